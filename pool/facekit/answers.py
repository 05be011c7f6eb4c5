"""Answers of slash commands as text: lines, then the table with its columns aligned, fitted to a width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from pool.facekit.plain import plain

if TYPE_CHECKING:
    from pool.agent.commands import CommandResult, Rows

GAP = "  "

LEAST_CELLS = 8
"""A column is not made narrower: a table that is too wide even so is left to the terminal."""


def answer_text(result: CommandResult, width: int = 0) -> str:
    """What a command answers, as lines of plain text; width is that of the table in cells, 0 for as wide as it is."""
    lines = answer_lines(result)
    return "\n".join([*lines, *(table_lines(result.rows, width) if result.rows is not None else [])])


def answer_lines(result: CommandResult) -> list[str]:
    """The lines that stand above the table."""
    return [plain(part) for line in result.lines for part in line.split("\n")]


def table_lines(table: Rows, width: int = 0) -> list[str]:
    """The rows of a table, the titles first if there are any; the last column is not padded.

    Where the table is wider than width, the widest columns give way and their cells go on in lines below.
    """
    rows = [table.titles, *table.rows] if any(table.titles) else list(table.rows)
    cells = [[plain(cell) for cell in row] for row in rows]
    count = max((len(row) for row in cells), default=0)
    widths = [max((cell_len(row[n]) for row in cells if n < len(row)), default=0) for n in range(count)]
    widths = _fitted(widths, width) if width else widths
    return [line for row in cells for line in _row_lines(row, widths, table.numeric)]


def _fitted(widths: list[int], width: int) -> list[int]:
    """Widths of columns, the widest of them narrowed until all fit; as they were if they cannot."""
    room = width - len(GAP) * (len(widths) - 1)
    over = sum(widths) - room
    if over <= 0 or sum(min(w, LEAST_CELLS) for w in widths) > room:
        return widths
    out = list(widths)
    for _ in range(over):
        out[max(range(len(out)), key=lambda n: out[n])] -= 1
    return out


def _row_lines(row: Sequence[str], widths: Sequence[int], numeric: frozenset[int]) -> list[str]:
    columns = [_broken(cell, widths[number]) for number, cell in enumerate(row)]
    height = max((len(lines) for lines in columns), default=1)
    return [
        _line([lines[at] if at < len(lines) else "" for lines in columns], widths, numeric).rstrip()
        for at in range(height)
    ]


def _broken(cell: str, width: int) -> list[str]:
    """A cell in lines of so many cells, broken between words where that is possible."""
    if cell_len(cell) <= width:
        return [cell]
    lines, line = list[str](), ""
    for word in cell.split():
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
            continue
        lines += [line] if line else []
        *whole, line = chop_cells(word, width) if cell_len(word) > width else [word]
        lines += whole
    return [*lines, line] if line else lines


def _line(row: Sequence[str], widths: Sequence[int], numeric: frozenset[int]) -> str:
    out: list[str] = []
    for number, cell in enumerate(row):
        blanks = " " * (widths[number] - cell_len(cell))
        out.append(blanks + cell if number in numeric else cell + blanks)
    return GAP.join(out)
