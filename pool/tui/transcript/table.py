"""Tables that fit: columns shrink and cells wrap; where even that is too wide, each row becomes a small list."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment

from pool.tui.transcript.block import Layout
from pool.tui.transcript.lines import Line, Run, line, prefixed
from pool.tui.transcript.wrap import wrap
from pool_tools.frozen import frozen

LEAST_COLUMN_CELLS = 7
"""A column is not made narrower than this, if its text is wider."""

_BETWEEN = " │ "


@frozen
class Table:
    """A table: head and rows of cells, all with the same number of cells; aligns are left, center or right."""

    head: Sequence[Sequence[Run]]
    rows: Sequence[Sequence[Sequence[Run]]]
    aligns: Sequence[str]


def table_rows(table: Table, at: Layout) -> list[Line]:
    """The table's rows, in columns if they fit."""
    widths = _widths(table, at.width)
    return _columns(table, widths, at) if widths else _stacked(table, at)


def _widths(table: Table, width: int) -> list[int]:
    """The columns' widths in cells; none if there is too little room."""
    count = len(table.head)
    room = width - len(_BETWEEN) * (count - 1)
    natural = [max(1, *(_cells(row[i]) for row in (table.head, *table.rows))) for i in range(count)]
    least = sum(min(w, LEAST_COLUMN_CELLS) for w in natural)
    if least > room:
        return []
    cap = max(natural)
    while sum(min(w, cap) for w in natural) > room:
        cap -= 1
    widths = [min(w, cap) for w in natural]
    spare = room - sum(widths)
    for i, wanted in enumerate(natural):
        if widths[i] < wanted and spare > 0:
            widths[i] += 1
            spare -= 1
    return widths


def _columns(table: Table, widths: Sequence[int], at: Layout) -> list[Line]:
    look = at.palette
    head = [[(t, s + look.strong) for t, s in cell] for cell in table.head]
    rows = _row(head, widths, table.aligns, at)
    rule = "─┼─".join("─" * w for w in widths)
    rows.append(line((rule, look.border), whole=_marks(table.aligns)))
    for cells in table.rows:
        rows += _row(cells, widths, table.aligns, at)
    return rows


def _row(cells: Sequence[Sequence[Run]], widths: Sequence[int], aligns: Sequence[str], at: Layout) -> list[Line]:
    wrapped = [wrap(cell, max(2, width)) for cell, width in zip(cells, widths, strict=True)]
    height = max(len(rows) for rows in wrapped)
    out: list[Line] = []
    for number in range(height):
        segments: list[Segment] = []
        for column, width in enumerate(widths):
            if column:
                segments.append(Segment(_BETWEEN, at.palette.border))
            found = wrapped[column][number].segments if number < len(wrapped[column]) else []
            segments += _aligned(found, width, aligns[column])
        out.append(Line(segments, joiner="", whole=""))
    out[0].whole = _source(cells)
    out[-1].joiner = None
    return out


def _aligned(segments: list[Segment], width: int, align: str) -> list[Segment]:
    space = max(0, width - sum(s.cell_length for s in segments))
    left = space if align == "right" else space // 2 if align == "center" else 0
    return [Segment(" " * left), *segments, Segment(" " * (space - left))]


def _stacked(table: Table, at: Layout) -> list[Line]:
    look = at.palette
    out: list[Line] = []
    for number, cells in enumerate(table.rows):
        if number:
            out.append(line(("─" * min(8, at.width), look.border), whole=""))
        for name, cell in zip(table.head, cells, strict=True):
            label = [(t, s + look.strong) for t, s in name]
            rows = wrap([*label, (": ", look.strong), *cell], at.narrower(2).width)
            out += prefixed(rows, [], [("  ", look.text)])
    return out or [line(*cell) for cell in table.head]


def _cells(runs: Sequence[Run]) -> int:
    return cell_len("".join(text for text, _ in runs))


def _source(cells: Sequence[Sequence[Run]]) -> str:
    texts = ["".join(text for text, _ in cell).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(texts)} |"


def _marks(aligns: Sequence[str]) -> str:
    marks = {"left": "---", "center": ":---:", "right": "---:"}
    return f"| {' | '.join(marks[a] for a in aligns)} |"
