"""Answers of slash commands as text: lines, then the table with its columns aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from pool.facekit.plain import plain

if TYPE_CHECKING:
    from pool.agent.commands import CommandResult, Rows

GAP = "  "


def answer_text(result: CommandResult) -> str:
    """What a command answers, as lines of plain text."""
    lines = [plain(part) for line in result.lines for part in line.split("\n")]
    return "\n".join([*lines, *(table_lines(result.rows) if result.rows is not None else [])])


def table_lines(table: Rows) -> list[str]:
    """The rows of a table, the titles first if there are any; the last column is not padded."""
    rows = [table.titles, *table.rows] if any(table.titles) else list(table.rows)
    cells = [[plain(cell) for cell in row] for row in rows]
    count = max((len(row) for row in cells), default=0)
    widths = [max((cell_len(row[n]) for row in cells if n < len(row)), default=0) for n in range(count)]
    return [_line(row, widths, table.numeric).rstrip() for row in cells]


def _line(row: list[str], widths: list[int], numeric: frozenset[int]) -> str:
    out: list[str] = []
    for number, cell in enumerate(row):
        blanks = " " * (widths[number] - cell_len(cell))
        out.append(blanks + cell if number in numeric else cell + blanks)
    return GAP.join(out)
