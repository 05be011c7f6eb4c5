"""Lines of prose broken between words at the right edge, in cells: terminals break them anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, get_character_cell_size

LEAST_COLUMNS = 20
"""A narrower window is left to wrap by itself."""

MOST_INDENT = 12
"""Rows after the first are indented as far as the text of a list's item, at most so far."""

_WORD = re.compile(r"\s*\S+")
_LEAD = re.compile(r"\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)*")

Piece = tuple[int, int]
"""Where a row's characters begin and end in its line."""


def row_pieces(line: str, columns: int, least: int = LEAST_COLUMNS) -> tuple[Sequence[Piece], int]:
    """The rows of a line, and the indent in cells of those after the first; one row in a window narrower than least."""
    if columns < least or cell_len(line) <= columns:
        return [(0, len(line))], 0
    lead = _LEAD.match(line)
    indent = min(cell_len(lead[0]) if lead is not None else 0, MOST_INDENT)
    pieces: list[Piece] = []
    start = end = width = 0
    for word in _WORD.finditer(line):
        cells = cell_len(word[0])
        if width + cells <= columns:
            end, width = word.end(), width + cells
            continue
        begin = word.end() - len(word[0].lstrip())
        if end > start:
            pieces.append((start, end))
            start, width = begin, indent
        for at in range(begin, word.end()):
            size = get_character_cell_size(line[at])
            if width + size > columns:
                pieces.append((start, at))
                start, width = at, indent
            width += size
        end = word.end()
    return [*pieces, (start, len(line.rstrip()))], indent


def rows_of(line: str, columns: int, least: int = LEAST_COLUMNS) -> list[str]:
    """The rows as text."""
    pieces, indent = row_pieces(line, columns, least)
    return [(" " * indent if number else "") + line[a:b] for number, (a, b) in enumerate(pieces)]
