"""Layouts without an app, for tests of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.lines import Line
from pool.tui.transcript.palette import CLASSES, palette

LOOK = palette(lambda name: Style(color=f"color({sorted(CLASSES).index(name) + 1})"), "")
"""Each role has a colour of its own."""


def at(width: int = 60, now: float = 0.0) -> Layout:
    """A layout of a width."""
    return Layout(width, LOOK, now)


def shown(rows: Sequence[Line]) -> list[str]:
    """What rows show, without blanks at their ends."""
    return [row.drawn.rstrip() for row in rows]


def drawn(block: Block, width: int = 60) -> list[str]:
    """What a block shows."""
    return shown(block.layout(at(width)))


def exact(rows: Sequence[Line]) -> list[object]:
    """Everything about rows."""
    return [(r.segments, r.gutter, r.joiner, r.whole, r.lead, r.fill, r.action) for r in rows]
