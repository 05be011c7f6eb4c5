"""Which lines of two texts match: `difflib`, in pieces between lines that both have exactly once.

`SequenceMatcher` takes time that grows with the square of the lines; between such anchors there is little left for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

SMALL_LINES = 400
"""Texts with fewer lines together are compared whole."""

Opcode = tuple[str, int, int, int, int]
"""As `difflib` has them: equal, replace, delete or insert, and the ranges of both texts."""


def opcodes(a: Sequence[bytes], b: Sequence[bytes]) -> list[Opcode]:
    """How a becomes b, from the first line to the last."""
    if len(a) + len(b) < SMALL_LINES:
        return list[Opcode](SequenceMatcher(None, a, b, autojunk=False).get_opcodes())
    out: list[Opcode] = []
    i = j = 0
    for at, to in (*_anchors(a, b), (len(a), len(b))):
        for tag, low, high, to_low, to_high in _between(a[i:at], b[j:to]):
            _add(out, (tag, low + i, high + i, to_low + j, to_high + j))
        if at < len(a):
            _add(out, ("equal", at, at + 1, to, to + 1))
        i, j = at + 1, to + 1
    return out


def grouped(codes: Sequence[Opcode], context: int) -> list[list[Opcode]]:
    """Changes that stand close together, with so many equal lines around; [] where nothing changes."""
    groups: list[list[Opcode]] = []
    group: list[Opcode] = []
    for number, (tag, i, ii, j, jj) in enumerate(codes):
        if tag != "equal":
            group.append((tag, i, ii, j, jj))
            continue
        first, last = number == 0, number == len(codes) - 1
        if not first and not last and ii - i <= 2 * context:
            group.append((tag, i, ii, j, jj))
            continue
        if group:
            end = min(context, ii - i)
            groups.append([*group, (tag, i, i + end, j, j + end)] if end else group)
        start = 0 if last else min(context, ii - i)
        group = [(tag, ii - start, ii, jj - start, jj)] if start else []
    if any(code[0] != "equal" for code in group):
        groups.append(group)
    return groups


def _between(a: Sequence[bytes], b: Sequence[bytes]) -> Sequence[Opcode]:
    if not a and not b:
        return ()
    if not a or not b:
        return (("insert" if b else "delete", 0, len(a), 0, len(b)),)
    return SequenceMatcher(None, a, b, autojunk=False).get_opcodes()


def _add(out: list[Opcode], code: Opcode) -> None:
    """Add a code; two in a row that are equal become one."""
    if out and out[-1][0] == code[0] == "equal":
        out[-1] = ("equal", out[-1][1], code[2], out[-1][3], code[4])
    else:
        out.append(code)


def _anchors(a: Sequence[bytes], b: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Places of lines that each text has once, such that both places rise."""
    ones, twos = Counter(a), Counter(b)
    places = {line: n for n, line in enumerate(b) if twos[line] == 1}
    pairs = [(n, places[line]) for n, line in enumerate(a) if ones[line] == 1 and line in places]
    # The longest rising run of the second places, by patience.
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, to) in enumerate(pairs):
        at = bisect_left(tops, to)
        if at == len(tops):
            tops.append(to)
            ends.append(number)
        else:
            tops[at], ends[at] = to, number
        before.append(ends[at - 1] if at else -1)
    chosen: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return reversed(chosen)
