"""Diffs between the bytes of a file then and now: lines, hunks, and taking single hunks back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pool_tools.diff import counts
from pool_tools.textfile import BINARY_SAMPLE_BYTES, binary_kind, decode

CONTEXT_LINES = 3
COMPARED_BYTES = 4 * 1024 * 1024
"""Larger files are not compared line by line."""

COMPARED_LINES = 20_000
"""Changed lines on both sides together up to which they are compared; beyond, all of them count as one change."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change: at line old_start + 1 of the old file old lines are replaced by new ones at new_start + 1.

    Lines are bytes with their ends. before and after are unchanged lines around it.
    """

    old_start: int
    new_start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    before: tuple[bytes, ...] = ()
    after: tuple[bytes, ...] = ()

    @property
    def header(self) -> str:
        """As in a unified diff."""
        lead, tail = len(self.before), len(self.after)
        left, right = len(self.old) + lead + tail, len(self.new) + lead + tail
        return f"@@ -{_range(self.old_start - lead, left)} +{_range(self.new_start - lead, right)} @@"

    def lines(self) -> list[tuple[str, bytes]]:
        """The lines, each with its sign: a blank, `-` or `+`."""
        parts = ((" ", self.before), ("-", self.old), ("+", self.new), (" ", self.after))
        return [(sign, line) for sign, lines in parts for line in lines]


def is_binary(data: bytes) -> bool:
    """Whether bytes are not shown as lines."""
    return len(data) > COMPARED_BYTES or bool(binary_kind(data[:BINARY_SAMPLE_BYTES]))


def line_counts(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and removed; 0 and 0 for what is no text."""
    if is_binary(old) or is_binary(new):
        return 0, 0
    return counts(decode(old).text if old else "", decode(new).text if new else "")


def hunks_of(old: bytes, new: bytes) -> list[Hunk]:
    """The changes from old to new, in order; [] if one of them is binary."""
    if is_binary(old) or is_binary(new):
        return []
    left, right = _lines(old), _lines(new)
    out: list[Hunk] = []
    for low, high, to_low, to_high in _changes(left, right):
        lead = left[max(0, low - CONTEXT_LINES) : low]
        tail = left[high : high + CONTEXT_LINES]
        out.append(Hunk(low, to_low, tuple(left[low:high]), tuple(right[to_low:to_high]), tuple(lead), tuple(tail)))
    return out


def without(new: bytes, hunks: Sequence[Hunk], indices: Iterable[int]) -> bytes:
    """new with the hunks of these numbers taken back. Raises `ValueError` if they do not fit new."""
    lines = _lines(new)
    for at in sorted(set(indices), reverse=True):
        hunk = hunks[at]
        end = hunk.new_start + len(hunk.new)
        if tuple(lines[hunk.new_start : end]) != hunk.new:
            raise ValueError("the file is not the one that the hunks belong to")
        lines[hunk.new_start : end] = hunk.old
    return b"".join(lines)


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    out = [line + b"\n" for line in data.split(b"\n")]
    last = out.pop()[:-1]
    return [*out, last] if last else out


def _changes(left: Sequence[bytes], right: Sequence[bytes]) -> list[tuple[int, int, int, int]]:
    """Ranges that differ, with equal lines at the start and at the end cut off first."""
    most = min(len(left), len(right))
    head = 0
    while head < most and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < most - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    a, b = left[head : len(left) - tail], right[head : len(right) - tail]
    if not a and not b:
        return []
    if not a or not b or len(a) + len(b) > COMPARED_LINES:
        return [(head, head + len(a), head, head + len(b))]
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(head + i, head + j, head + k, head + m) for tag, i, j, k, m in codes if tag != "equal"]


def _range(start: int, length: int) -> str:
    if not length:
        return f"{start},0"
    return f"{start + 1}" if length == 1 else f"{start + 1},{length}"
