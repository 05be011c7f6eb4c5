"""What is selected, and its text: as it was written, without gutters, padding or the breaks of wrapping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pool.tui.transcript.lines import Line
from pool.tui.transcript.store import Entry, Store
from pool_tools.frozen import frozen


class Point(NamedTuple):
    """A place between characters: entry by its index, row in it (-1: the gap before it), character of the row."""

    entry: int
    row: int
    column: int


@frozen
class Selection:
    """From one point to another, in either order."""

    anchor: Point
    head: Point

    @property
    def start(self) -> Point:
        return min(self.anchor, self.head)

    @property
    def end(self) -> Point:
        return max(self.anchor, self.head)

    @property
    def is_empty(self) -> bool:
        return self.anchor == self.head

    def span(self, entry: int, row: int, length: int) -> tuple[int, int] | None:
        """The selected characters of a row that has length ones; None if there are none."""
        here = (entry, row)
        start, end = self.start, self.end
        if here < (start.entry, start.row) or here > (end.entry, end.row):
            return None
        first = start.column if here == (start.entry, start.row) else 0
        last = end.column if here == (end.entry, end.row) else length
        return (first, min(last, length)) if first < last else None


def selected_text(store: Store, selection: Selection) -> str:
    """The text of a selection."""
    parts: list[str] = []
    start, end = selection.start, selection.end
    for entry in store.entries[start.entry : end.entry + 1]:
        whole = start.entry < entry.index < end.entry
        if whole and entry.rows is None:
            text = entry.block.source() if store.heights[entry.index] else ""
        else:
            text = _of_entry(store.rows(entry), entry, selection)
        if text:
            parts.append(text)
    return "\n\n".join(parts)


def _of_entry(rows: Sequence[Line], entry: Entry, selection: Selection) -> str:
    spans = [
        (number, span)
        for number, row in enumerate(rows)
        if (span := selection.span(entry.index, number, max(1, len(row.drawn)))) is not None
    ]
    if len(spans) == 1 and selection.start.entry == selection.end.entry:
        number, (first, last) = spans[0]
        return rows[number].drawn[max(first, rows[number].gutter) : last].rstrip()
    out = ""
    for number, (first, last) in spans:
        row = rows[number]
        from_start = first <= row.gutter
        text = (
            row.whole
            if row.whole is not None and from_start
            else (row.lead if from_start else "") + row.drawn[max(first, row.gutter) : last]
        )
        out += text + ("\n" if row.joiner is None else row.joiner)
    return out.rstrip("\n") if out.strip() else ""
