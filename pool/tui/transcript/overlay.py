"""Laying styles over parts of a row: the selection, and matches of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style

Overlay = tuple[int, int, Style]
"""Start and end as characters of a row, and the style to lay over."""


def laid_over(segments: Sequence[Segment], overlays: Iterable[Overlay]) -> list[Segment]:
    """The segments with styles laid over; where overlays meet the later one wins."""
    out = list(segments)
    for start, end, style in overlays:
        out = _one(out, start, end, style)
    return out


def _one(segments: Sequence[Segment], start: int, end: int, over: Style) -> list[Segment]:
    out: list[Segment] = []
    place = 0
    for text, style, _ in segments:
        low, high = min(max(start - place, 0), len(text)), min(max(end - place, 0), len(text))
        for part, laid in ((text[:low], style), (text[low:high], (style or over) + over), (text[high:], style)):
            if part:
                out.append(Segment(part, laid))
        place += len(text)
    return out
