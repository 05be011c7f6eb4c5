"""Unified diffs and counts of changed lines, quick on large files with small changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pool_tools.lines import shown_line
from pool_tools.textfile import lines_of

CONTEXT_LINES = 3
MOST_COMPARED = 4_000
"""Changed lines on both sides together up to which they are compared line by line; beyond, all count as changed."""

_HUNK = re.compile(r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")


def unified(old: str, new: str, name: str) -> str:
    """The unified diff from old to new with three lines of context; "" if they are equal."""
    olds, news = lines_of(old), lines_of(new)
    before, after = _common(olds, news)
    skip = max(0, before - CONTEXT_LINES)
    tail = max(0, after - CONTEXT_LINES)
    left, right = olds[skip : len(olds) - tail], news[skip : len(news) - tail]
    if left == right:
        return ""
    body = _hunks(left, right) if len(left) + len(right) <= MOST_COMPARED else _one_hunk(left, right)
    out = [f"--- a/{name}", f"+++ b/{name}"]
    for line in body:
        hunk = _HUNK.match(line)
        if hunk:
            line = f"@@ -{int(hunk[1]) + skip}{hunk[2]} +{int(hunk[3]) + skip}{hunk[4]} @@"
        out.append(line)
    return "\n".join(out)


def counts(old: str, new: str) -> tuple[int, int]:
    """Lines added and removed."""
    olds, news = lines_of(old), lines_of(new)
    before, after = _common(olds, news)
    left, right = olds[before : len(olds) - after], news[before : len(news) - after]
    if not left or not right or len(left) + len(right) > MOST_COMPARED:
        return len(right), len(left)
    from difflib import SequenceMatcher

    same = sum(block.size for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks())
    return len(right) - same, len(left) - same


def _common(olds: Sequence[str], news: Sequence[str]) -> tuple[int, int]:
    """How many lines at the start and at the end are the same."""
    most = min(len(olds), len(news))
    before = 0
    while before < most and olds[before] == news[before]:
        before += 1
    after = 0
    while after < most - before and olds[-1 - after] == news[-1 - after]:
        after += 1
    return before, after


def _hunks(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    from difflib import unified_diff

    for line in list(unified_diff(left, right, n=CONTEXT_LINES))[2:]:
        yield from _shown(line)


def _one_hunk(left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    yield f"@@ -1,{len(left)} +1,{len(right)} @@"
    for sign, lines in (("-", left), ("+", right)):
        for line in lines:
            yield from _shown(sign + line)


def _shown(line: str) -> Iterator[str]:
    yield shown_line(line)
    if not line.endswith(("\n", "\r")):
        yield "\\ No newline at end of file"
