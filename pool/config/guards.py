"""Thresholds of the guards that a user may change; `docs/guards.md` says why they are as they are."""

from __future__ import annotations

import re

from pool_tools.frozen import frozen


@frozen
class RepeatLimits:
    """At how many equal calls with equal results a note, a firmer note, a refusal and the stop come. 0 switches off.

    A command that waits (`sleep`) may repeat polling times as often.
    """

    note: int = 3
    firm: int = 4
    block: int = 5
    stop: int = 6
    polling: int = 3


@frozen
class SignalLimits:
    """When the end of a thought counts as repeating itself, and what counts as the same sentence.

    zlib_ratio: a tail that compresses to less. unique_line_share: a tail of which fewer lines differ. phrase_words,
    phrase_repeats, phrase_zlib_ratio: a phrase of so many words that comes so often in a tail that compresses to less.
    near_same: sentences of hesitation that differ in numbers only. answer_zlib_ratio: the end of an answer that
    compresses to less. 0 switches a rule off.

    Phrases that repeat compress to 1 to 5 %; lists and tables whose rows differ in a number to 10 %, and are honest.
    Code repeats phrases too, but compresses less; honest text that was measured keeps 33 %.
    """

    zlib_ratio: float = 0.08
    unique_line_share: float = 0.3
    phrase_words: int = 8
    phrase_repeats: int = 10
    phrase_zlib_ratio: float = 0.15
    near_same: int = 10
    answer_zlib_ratio: float = 0.02


@frozen
class GuardSettings:
    """Settings of all guards but the budgets. 0 switches a rule off.

    restart_phrases are regular expressions, matched at the start of a sentence of a thought, beside the built-in ones.
    restarts, same_sentence: that many cut a thought. code_lines: longest fenced block in a thought.
    cycle_rounds: rounds of a cycle of calls until the note; two more end the run.
    returns_note, returns_stop: how often edits may bring a file's earlier contents back.
    reads_after_plan: turns that only read after the model said that it has planned enough, until the note.
    announcements: nudges in a row for an action that is announced and not taken. unknown_tools: calls in a row of
    tools that do not exist.
    cuts: thoughts cut since the last progress that end a run if the last of them led to no call; cuts_acting: that end
    it although calls followed. told_share: share of a budget at which the model is told.
    """

    restart_phrases: tuple[str, ...] = ()
    restarts: int = 8
    same_sentence: int = 5
    code_lines: int = 60
    repeats: RepeatLimits = RepeatLimits()
    signals: SignalLimits = SignalLimits()
    cycle_rounds: int = 3
    returns_note: int = 2
    returns_stop: int = 4
    reads_after_plan: int = 5
    announcements: int = 2
    unknown_tools: int = 3
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
