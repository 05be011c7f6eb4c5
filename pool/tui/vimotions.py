"""Vi's motions over lines of text: where a key takes the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from pool_tools.frozen import frozen

Place = tuple[int, int]
"""Row and column, from 0, in characters."""


@frozen
class Motion:
    """Where a motion leads. linewise: whole lines are meant; inclusive: the character there too."""

    to: Place
    linewise: bool = False
    inclusive: bool = False


def motion(key: str, lines: Sequence[str], at: Place, count: int = 1) -> Motion | None:
    """Where a key leads from a place, None if it is no motion. lines has at least one line."""
    row, column = at
    last = len(lines) - 1
    match key:
        case "h":
            return Motion((row, max(0, column - count)))
        case "l":
            return Motion((row, min(len(lines[row]), column + count)))
        case "j":
            return Motion((min(last, row + count), column), linewise=True)
        case "k":
            return Motion((max(0, row - count), column), linewise=True)
        case "0":
            return Motion((row, 0))
        case "^":
            return Motion((row, first_column(lines[row])))
        case "$":
            return Motion((row, max(0, len(lines[row]) - 1)), inclusive=bool(lines[row]))
        case "gg":
            return Motion((min(last, count - 1), 0), linewise=True)
        case "G":
            return Motion((last, 0), linewise=True)
        case "w" | "b" | "e":
            step = {"w": _word, "b": _back, "e": _end}[key]
            for _ in range(count):
                at = step(lines, at)
            return Motion(at, inclusive=key == "e")
        case _:
            return None


def first_column(line: str) -> int:
    """The column of the first character that is no blank."""
    return len(line) - len(line.lstrip())


def _kind(lines: Sequence[str], at: Place) -> int:
    """0: blank or the end of a line, 1: part of a word, 2: other signs."""
    row, column = at
    if column >= len(lines[row]) or lines[row][column].isspace():
        return 0
    character = lines[row][column]
    return 1 if character.isalnum() or character == "_" else 2


def _forward(lines: Sequence[str], at: Place) -> Place | None:
    """The next place, where the end of a line counts as one."""
    row, column = at
    if column < len(lines[row]):
        return row, column + 1
    return (row + 1, 0) if row + 1 < len(lines) else None


def _backward(lines: Sequence[str], at: Place) -> Place | None:
    row, column = at
    if column:
        return row, column - 1
    return (row - 1, len(lines[row - 1])) if row else None


def _word(lines: Sequence[str], at: Place) -> Place:
    """The beginning of the next word; an empty line is one."""
    kind = _kind(lines, at)
    while kind and _kind(lines, at) == kind:
        if (following := _forward(lines, at)) is None:
            return at
        at = following
    while _kind(lines, at) == 0:
        if (following := _forward(lines, at)) is None:
            return at
        if following[0] != at[0] and not lines[following[0]]:
            return following
        at = following
    return at


def _back(lines: Sequence[str], at: Place) -> Place:
    """The beginning of this word, or of the one before."""
    before = _backward(lines, at)
    while before is not None and _kind(lines, before) == 0:
        at, before = before, _backward(lines, before)
        if not lines[at[0]]:
            return at
    if before is None:
        return (0, 0)
    kind = _kind(lines, before)
    while before is not None and _kind(lines, before) == kind:
        at, before = before, _backward(lines, before)
    return at


def _end(lines: Sequence[str], at: Place) -> Place:
    """The last character of this word, or of the next one."""
    following = _forward(lines, at)
    while following is not None and _kind(lines, following) == 0:
        at, following = following, _forward(lines, following)
    if following is None:
        return (len(lines) - 1, max(0, len(lines[-1]) - 1))
    kind = _kind(lines, following)
    while following is not None and _kind(lines, following) == kind:
        at, following = following, _forward(lines, following)
    return at
