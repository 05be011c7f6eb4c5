"""Rows of lists that are wider than the window: their end is cut, and an ellipsis says so."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

MORE = "…"


def cut_strip(strip: Strip, width: int, style: Style) -> Strip:
    """A row of exactly so many cells, filled or cut; style is that of what is filled in, and of the mark of a cut."""
    if strip.cell_length <= width or width < 1:
        return strip.adjust_cell_length(width, style)
    return Strip.join([strip.crop(0, width - 1).adjust_cell_length(width - 1, style), Strip([Segment(MORE, style)])])
