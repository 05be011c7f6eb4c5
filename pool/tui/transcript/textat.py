"""Text behind rows: lines of text that were wrapped, the character under a cell, words and paths at a place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import split_graphemes

from pool.tui.transcript.lines import Line
from pool_tools.frozen import frozen

_NOT_PATH = re.compile(r"[\s\"'`<>|()\[\]{},;*?!│]")
_PLACE = re.compile(r"(?P<path>.+?)(?::(?P<line>\d+))?(?::(?P<column>\d+))?")
_EXTENSION = re.compile(r"[\w~./@+-]*\w\.[A-Za-z][A-Za-z0-9]{0,7}")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+")
_WORD = re.compile(r"[\w./~-]+|\s+|.")


@frozen
class Logical:
    """A line of text over the rows it was wrapped to: first is the first row's number, starts where each row begins."""

    text: str
    first: int
    starts: Sequence[int]


def logical(rows: Sequence[Line], number: int) -> Logical:
    """The line of text that row number is a part of."""
    first = number
    while first > 0 and _goes_on(rows[first - 1]) and rows[first].whole is None:
        first -= 1
    text, starts = "", list[int]()
    for place in range(first, len(rows)):
        row = rows[place]
        starts.append(len(text))
        text += row.text
        if not _goes_on(row):
            break
        text += row.joiner or ""
    return Logical(text, first, starts)


def _goes_on(row: Line) -> bool:
    return row.joiner is not None and row.whole is None


def column_at(row: Line, cell: int) -> int:
    """The character of a row, gutter included, that a cell shows; its length beyond the end."""
    used = 0
    drawn = row.drawn
    if drawn.isascii():
        return min(max(cell, 0), len(drawn))
    for start, _, cells in split_graphemes(drawn)[0]:
        if used + cells > cell:
            return start
        used += cells
    return len(drawn)


def word_at(text: str, place: int) -> tuple[int, int]:
    """Start and end of the word (or path) around a character of text."""
    for match in _WORD.finditer(text):
        if match.start() <= place < match.end():
            return match.span()
    return len(text), len(text)


@frozen
class Place:
    """Something that text points at: a path with line and column (0 if not told), or an address."""

    path: str
    line: int = 0
    column: int = 0
    is_url: bool = False


def place_at(text: str, at: int) -> Place | None:
    """The path or address in text around a character, if there is one."""
    start = end = at
    while start > 0 and not _NOT_PATH.match(text[start - 1]):
        start -= 1
    while end < len(text) and not _NOT_PATH.match(text[end]):
        end += 1
    found = text[start:end].rstrip(".:")
    if _URL.fullmatch(found):
        return Place(found, is_url=True)
    match = _PLACE.fullmatch(found)
    if not match:
        return None
    path = match["path"]
    if not (_EXTENSION.fullmatch(path) or ("/" in path.strip("/") and re.search(r"\w", path))):
        return None
    return Place(path, int(match["line"] or 0), int(match["column"] or 0))
