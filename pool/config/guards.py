"""Thresholds of the guards that a user may change; `docs/guards.md` says why they are as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RepeatLimits:
    """At how many equal calls with equal results a note, a firmer note, a refusal and the stop come. 0 switches off.

    A command that waits (`sleep`) may repeat polling times as often.
    """

    note: int = 3
    firm: int = 4
    block: int = 5
    stop: int = 6
    polling: int = 3


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Settings of all guards but the budgets. 0 switches a rule off.

    restart_phrases are regular expressions, matched at the start of a sentence of a thought, beside the built-in ones.
    restarts, same_sentence: that many cut a thought. code_lines: longest fenced block in a thought.
    cycle_rounds: rounds of a cycle of calls until the note; two more end the run.
    returns_note, returns_stop: how often edits may bring a file's earlier contents back.
    reads_after_plan: turns that only read after the model said that it has planned enough, until the note.
    announcements: nudges in a row for an action that is announced and not taken.
    cuts: thoughts cut since the last progress that end a run if the last of them led to no call; cuts_acting: that end
    it although calls followed. told_share: share of a budget at which the model is told.
    """

    restart_phrases: tuple[str, ...] = ()
    restarts: int = 8
    same_sentence: int = 5
    code_lines: int = 60
    repeats: RepeatLimits = RepeatLimits()
    cycle_rounds: int = 3
    returns_note: int = 2
    returns_stop: int = 4
    reads_after_plan: int = 5
    announcements: int = 2
    cuts: int = 2
    cuts_acting: int = 4
    told_share: float = 0.8

    def __post_init__(self) -> None:
        """Raises ValueError for a phrase that is no regular expression."""
        for phrase in self.restart_phrases:
            try:
                re.compile(phrase)
            except re.error as error:
                raise ValueError(f"the restart phrase {phrase!r} is no regular expression: {error}") from None
