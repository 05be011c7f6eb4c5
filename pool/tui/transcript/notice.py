"""Quiet lines (guards, compactions, checkpoints, statistics, notices) and cards for errors."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from rich.style import Style

from pool.facekit.clean import clean, cut, one_line
from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.lines import Line, Run, prefixed
from pool.tui.transcript.palette import Palette
from pool.tui.transcript.plaintext import text_rows
from pool.tui.transcript.wrap import wrap

MOST_CHARS = 2_000
"""Of a remark, how much is shown."""

MOST_LINES = 40
"""Of an error's cause, how many lines are shown."""


class Tone(StrEnum):
    """How much a line asks for attention."""

    QUIET = "quiet"
    GOOD = "good"
    WARNING = "warning"


_MARKS = {Tone.QUIET: "·", Tone.GOOD: "✓", Tone.WARNING: "!"}


class Quiet(Block):
    """One remark. remedy says what to do about it, if anything."""

    is_tight = True

    def __init__(self, text: str, remedy: str = "", tone: Tone = Tone.QUIET) -> None:
        self._text = text
        self._remedy = remedy
        self._tone = tone

    def source(self, part: int = 0) -> str:
        text, remedy = one_line(self._text), one_line(self._remedy)
        return f"{text} {remedy}".strip()

    def layout(self, at: Layout) -> Sequence[Line]:
        look = at.palette
        style = _style(self._tone, look)
        rows = wrap(
            [(cut(one_line(self._text), MOST_CHARS), look.muted if self._tone is Tone.GOOD else style)],
            at.narrower(2).width,
        )
        if self._remedy:
            rows += wrap([(cut(one_line(self._remedy), MOST_CHARS), look.muted)], at.narrower(2).width)
        return prefixed(rows, [(_MARKS[self._tone] + " ", style)], [("  ", style)])


def _style(tone: Tone, look: Palette) -> Style:
    return {Tone.QUIET: look.muted, Tone.GOOD: look.success, Tone.WARNING: look.warning}[tone]


class ErrorCard(Block):
    """Something failed: what, the cause, and the remedy."""

    def __init__(self, title: str, cause: str = "", remedy: str = "") -> None:
        self._title = title
        self._cause = cause
        self._remedy = remedy

    def source(self, part: int = 0) -> str:
        return "\n".join(clean(t) for t in (self._title, self._cause, self._remedy) if t)

    def layout(self, at: Layout) -> Sequence[Line]:
        look, room = at.palette, at.narrower(2)
        rows = _marked(self._title, ("✗ ", look.error), look.error + look.strong, room)
        if self._cause:
            lines = clean(self._cause).strip("\n").split("\n")
            rows += text_rows("\n".join(lines[:MOST_LINES]), room, look.text)
        if self._remedy:
            rows += _marked(self._remedy, ("→ ", look.accent), look.text, room)
        return prefixed(rows, [("┃ ", look.error)], [("┃ ", look.error)])


def _marked(text: str, mark: Run, style: Style, at: Layout) -> list[Line]:
    rows = wrap([(cut(one_line(text), MOST_CHARS), style)], at.narrower(2).width)
    return list(prefixed(rows, [mark], [("  ", style)]))
