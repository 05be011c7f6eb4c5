"""The model's thinking: one live line while it lasts, one line when it is done, all of it when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable

from pool.config.interface import ReasoningView
from pool.facekit.activity import CHARS_PER_TOKEN
from pool.facekit.clean import Cleaner, expand
from pool.facekit.words import duration
from pool.repl.ink import Ink, Role


class Thought:
    """One thought. say takes finished lines."""

    def __init__(self, ink: Ink, view: ReasoningView, say: Callable[[str], None]) -> None:
        self._ink = ink
        self._view = view
        self._say = say
        self._cleaner = Cleaner()
        self._begun = time.monotonic()
        self._chars = 0
        self.lines: list[str] = []
        self._line = ""

    @property
    def live(self) -> list[str]:
        """What an open thought says right now; a folded one is told by the line about what goes on."""
        return [self._line] if self._view is ReasoningView.OPEN and self._line else []

    def feed(self, text: str) -> None:
        """Take the next piece."""
        self._chars += len(text)
        *whole, self._line = (self._line + self._cleaner.feed(text)).split("\n")
        for line in whole:
            self._take(line)

    def end(self) -> None:
        """It is done: fold it."""
        self._line += self._cleaner.end()
        if self._line.strip():
            self._take(self._line)
        self._line = ""
        if self._view is ReasoningView.HIDDEN or not self._chars:
            return
        seconds = time.monotonic() - self._begun
        time_ = f" for {duration(seconds)}" if seconds >= 1 else ""
        self._say(self._ink.paint(f"thought{time_} · ~{self._chars / CHARS_PER_TOKEN:,.0f} tokens", Role.MUTED))

    def _take(self, line: str) -> None:
        if not self.lines and not line.strip():
            return
        self.lines.append(expand(line))
        if self._view is ReasoningView.OPEN:
            self._say(thought_line(self.lines[-1], self._ink))


def thought_line(line: str, ink: Ink) -> str:
    """A line of a thought."""
    return ink.paint(f"{'│ ' if ink.marks else '| '}{line}".rstrip(), Role.MUTED)
