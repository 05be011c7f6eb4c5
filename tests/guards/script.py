"""The form of a scripted run: what the model says turn by turn, and what has to come of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pool.events import StopReason

SOFT_NOTES = frozenset({"thinking", "progress", "turns", "tokens", "seconds"})
"""Guards whose notes an honest run may see: a word to people (thinking), or one line for the model."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model makes."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Say:
    """One reply. Without a finish it is tool_calls if there are calls, else stop.

    endless(i) is the i-th piece of a text that goes on until the client hangs up or `max_tokens` is reached, in the
    thought, or where endless_in says. instead is what the model says when its thought is closed for it, or when
    thinking is off; None goes on with the next reply of the script.
    """

    thought: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    endless: Callable[[int], str] | None = None
    endless_in: str = "thought"
    instead: Say | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A run. turns are played in order, then `then` again and again (None: the last turn ends the run).

    files are in the workspace at the start. stop is the reason that it has to end for, requests how many chat requests
    it may take at most, with the one for a closing word. thought_tokens: how much thought it may take at most.
    notes are guards of `SOFT_NOTES` that have to say a word (honest runs only). settings are fields of `Settings`.
    pace is tokens a second, 0 as fast as it goes. source is where it was reported, "" if it was made up.
    """

    name: str
    turns: tuple[Say, ...]
    then: Say | None = None
    honest: bool = False
    stop: StopReason = StopReason.COMPLETED
    requests: int = 0
    thought_tokens: int = 0
    notes: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    prompt: str = "Do what the task asks."
    pace: float = 0.0
    source: str = ""

    @property
    def half(self) -> str:
        """A or B, for ever the same: thresholds are set on A and judged on B."""
        return "AB"[zlib.crc32(self.name.encode()) & 1]


def call(name: str, **arguments: Any) -> Say:
    """A reply that is one call."""
    return Say(calls=(Call(name, arguments),))


def shell(command: str) -> Say:
    """A reply that is one command."""
    return call("shell", command=command)


def read(path: str, **more: Any) -> Say:
    """A reply that reads a file."""
    return call("read", path=path, **more)


def edit(path: str, old: str, new: str) -> Say:
    """A reply that edits a file."""
    return call("edit", path=path, old_text=old, new_text=new)


def answer(text: str) -> Say:
    """A reply that is an answer."""
    return Say(content=text)
