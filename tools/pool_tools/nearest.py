"""Where text that was not found most likely is, and what differs there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pool_tools.frozen import frozen
from pool_tools.lines import numbered, without_end
from pool_tools.text import clip_around, visible
from pool_tools.textfile import to_lf

WINDOW_LINES = 30
"""Most lines of the file that a failed edit shows."""

SHOWN_DIFFERENCES = 3
_DIFFERENCE_CHARS = 160

_COMPARED_LINES = 4_000
_COMPARED_CHARS = 400
_SIMILAR = 0.6
"""Least similarity (difflib's ratio) of a line that counts as meant."""

_TELLING_CHARS = 4
"""Lines shorter than this (`}`, `end`) say little about the place."""

_NUMBERED = re.compile(r"\s*\d+\|")


@frozen
class Near:
    """The nearest place: the lines first to last (from 1), shown with numbers, and what differs."""

    first: int
    last: int
    text: str
    differences: str


def nearest(lines: Sequence[str], old: str) -> Near | None:
    """The place in lines (with their ends) that is most like old; None if nothing is."""
    olds = to_lf(old).split("\n")
    while len(olds) > 1 and not olds[-1].strip():
        olds.pop()
    start = _start(lines, olds)
    if start is None:
        return None
    pairs = [
        (number, without_end(lines[number - 1]) if 0 < number <= len(lines) else None, line)
        for number, line in enumerate(olds, start + 1)
    ]
    different = [p for p in pairs if p[1] is None or p[1].rstrip() != p[2].rstrip()] or [
        p for p in pairs if p[1] != p[2]
    ]
    middle = different[0][0] if different else start + 1
    first = max(1, min(start + 1, middle) if len(olds) <= WINDOW_LINES else middle - WINDOW_LINES // 2)
    last = min(len(lines), first + min(len(olds), WINDOW_LINES) - 1)
    told = "\n".join(_difference(*p) for p in different[:SHOWN_DIFFERENCES])
    if len(different) > SHOWN_DIFFERENCES:
        told += f"\n  … and {len(different) - SHOWN_DIFFERENCES} more lines differ"
    return Near(first, last, numbered(lines[first - 1 : last], first), told)


def has_line_numbers(old: str) -> bool:
    """Whether old was copied together with the numbers that `read` prints."""
    lines = [line for line in old.split("\n") if line.strip()]
    return bool(lines) and all(_NUMBERED.match(line) for line in lines)


def _difference(number: int, file: str | None, old: str) -> str:
    if file is None:
        return (
            f"  line {number}: the file ends before it\n    old_text: {clip_around(visible(old), 0, _DIFFERENCE_CHARS)}"
        )
    at = next((i for i, (a, b) in enumerate(zip(file, old, strict=False)) if a != b), min(len(file), len(old)))
    show = _with_blanks if file.split() == old.split() else visible
    return (
        f"  line {number} of the file: {clip_around(show(file), at, _DIFFERENCE_CHARS)}\n"
        f"  in old_text:{' ' * len(str(number))}       {clip_around(show(old), at, _DIFFERENCE_CHARS)}"
    )


def _with_blanks(line: str) -> str:
    """line with its blanks and tabs made visible, for lines that differ in nothing else."""
    return visible(line.replace("\t", "→")).replace(" ", "·")


def _start(lines: Sequence[str], olds: Sequence[str]) -> int | None:
    """Index of the line of the file that the first line of olds stands for (may lie before the file's start)."""
    places: dict[str, list[int]] = {}
    wanted = {line.strip() for line in olds}
    for i, line in enumerate(lines):
        word = line.strip()
        if word in wanted:
            places.setdefault(word, []).append(i)
    votes: Counter[int] = Counter()
    for j, line in enumerate(olds):
        word = line.strip()
        if len(word) >= _TELLING_CHARS:
            for i in places.get(word, ())[:_COMPARED_LINES]:
                votes[i - j] += min(len(word), _COMPARED_CHARS)
    if votes:
        best = max(votes.values())
        return min(start for start, count in votes.items() if count == best)
    return _similar_start(lines, olds)


def _similar_start(lines: Sequence[str], olds: Sequence[str]) -> int | None:
    from difflib import SequenceMatcher

    telling = max(range(len(olds)), key=lambda j: len(olds[j].strip()))
    word = olds[telling].strip()[:_COMPARED_CHARS]
    if not word:
        return None
    matcher = SequenceMatcher(None, b=word, autojunk=False)
    best, found = _SIMILAR, None
    for i, line in enumerate(lines[:_COMPARED_LINES]):
        matcher.set_seq1(line.strip()[:_COMPARED_CHARS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, found = ratio, i - telling
    return found
