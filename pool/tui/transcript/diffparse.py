"""Unified diffs taken apart: numbered lines, pairs of old and new, and the words that differ in a pair.

`textual-diff-view` shows diffs as widgets, one set per diff; here they are rows like everything else, with Python's
`difflib` for the words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from pool_tools.frozen import frozen

MOST_WORDS = 120
"""Longer lines are not compared by words."""

LEAST_RATIO = 0.4
"""Lines that have less in common are shown as different as a whole."""

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)

Spans = tuple[tuple[int, int], ...]


@frozen
class DiffLine:
    """One line of a diff. sign is " ", "-", "+", or "@" for the head of a hunk; words are the parts that changed.

    number is the line's in its file, the new one where it stands in both; old is then its number in the old one.
    """

    sign: str
    number: int
    text: str
    words: Spans = ()
    old: int = 0


Pair = tuple[DiffLine | None, DiffLine | None]
"""What stands on the old side and on the new side of one row."""


def parse(text: str) -> list[DiffLine]:
    """The lines of a unified diff, file heads left out."""
    out: list[DiffLine] = []
    old = new = 0
    started = False
    for row in text.split("\n"):
        if head := _HUNK.match(row):
            old, new, started = int(head[1]), int(head[2]), True
            out.append(DiffLine("@", new, head[3].strip()))
        elif started and row[:1] in (" ", "") and row:
            out.append(DiffLine(" ", new, row[1:], old=old))
            old, new = old + 1, new + 1
        elif started and row[0:1] == "-":
            out.append(DiffLine("-", old, row[1:]))
            old += 1
        elif started and row[0:1] == "+":
            out.append(DiffLine("+", new, row[1:]))
            new += 1
    return out


def pairs(lines: Sequence[DiffLine]) -> list[Pair]:
    """The lines side by side: what replaces what, with the changed words marked."""
    out: list[Pair] = []
    place = 0
    while place < len(lines):
        if lines[place].sign not in "-+":
            out.append((lines[place], lines[place]))
            place += 1
            continue
        start = place
        while place < len(lines) and lines[place].sign == "-":
            place += 1
        olds = lines[start:place]
        start = place
        while place < len(lines) and lines[place].sign == "+":
            place += 1
        news = lines[start:place]
        for number in range(max(len(olds), len(news))):
            old = olds[number] if number < len(olds) else None
            new = news[number] if number < len(news) else None
            out.append(_marked(old, new) if old and new else (old, new))
    return out


def in_order(rows: Sequence[Pair]) -> list[DiffLine]:
    """The pairs one below the other again: a group's old lines, then its new ones."""
    out: list[DiffLine] = []
    news: list[DiffLine] = []
    for old, new in rows:
        if old is new and old is not None:
            out += [*news, old]
            news = []
            continue
        if old is not None:
            out.append(old)
        if new is not None:
            news.append(new)
    return out + news


def _marked(old: DiffLine, new: DiffLine) -> Pair:
    before, after = _WORD.findall(old.text), _WORD.findall(new.text)
    if not before or not after or len(before) > MOST_WORDS or len(after) > MOST_WORDS:
        return old, new
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.quick_ratio() < LEAST_RATIO or matcher.ratio() < LEAST_RATIO:
        return old, new
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    olds = _spans(before, [(code[1], code[2]) for code in changed])
    news = _spans(after, [(code[3], code[4]) for code in changed])
    return DiffLine(old.sign, old.number, old.text, olds), DiffLine(new.sign, new.number, new.text, news)


def _spans(words: Sequence[str], ranges: Sequence[tuple[int, int]]) -> Spans:
    """Ranges of words as ranges of characters."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return tuple((starts[a], starts[b]) for a, b in ranges if b > a)
