"""Diffs between the bytes of a file then and now: lines, hunks, and taking single hunks back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pool.sessions.checkpoints.linematch import Opcode, grouped, opcodes
from pool_tools.diff import counts
from pool_tools.frozen import frozen
from pool_tools.textfile import BINARY_SAMPLE_BYTES, binary_kind, decode

CONTEXT_LINES = 3
COMPARED_BYTES = 4 * 1024 * 1024
"""Larger files are not compared line by line."""

COMPARED_LINES = 20_000
"""Changed lines on both sides together up to which they are compared; beyond, all of them count as one change."""


@frozen
class Hunk:
    """Changes that stand close together. lines are bytes with their ends, each with its sign: a blank, `-` or `+`.

    old_start and new_start say before which line the first of them stands, counted from 0.
    """

    old_start: int
    new_start: int
    lines: tuple[tuple[str, bytes], ...]

    @property
    def old(self) -> list[bytes]:
        """The lines of the old file."""
        return [line for sign, line in self.lines if sign != "+"]

    @property
    def new(self) -> list[bytes]:
        """The lines of the new file."""
        return [line for sign, line in self.lines if sign != "-"]

    @property
    def header(self) -> str:
        """As in a unified diff."""
        return f"@@ -{_range(self.old_start, len(self.old))} +{_range(self.new_start, len(self.new))} @@"


def is_binary(data: bytes) -> bool:
    """Whether bytes are not shown as lines."""
    return len(data) > COMPARED_BYTES or bool(binary_kind(data[:BINARY_SAMPLE_BYTES]))


def line_counts(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and removed; 0 and 0 for what is no text."""
    if is_binary(old) or is_binary(new):
        return 0, 0
    return counts(decode(old).text if old else "", decode(new).text if new else "")


def hunks_of(old: bytes, new: bytes) -> list[Hunk]:
    """The changes from old to new, in order, with `CONTEXT_LINES` lines around; [] if one of them is binary."""
    if is_binary(old) or is_binary(new):
        return []
    left, right = _lines(old), _lines(new)
    return [_hunk(group, left, right) for group in _groups(left, right)]


def without(new: bytes, hunks: Sequence[Hunk], indices: Iterable[int]) -> bytes:
    """new with the hunks of these numbers taken back. Raises `ValueError` if they do not fit new."""
    lines = _lines(new)
    for at in sorted(set(indices), reverse=True):
        hunk = hunks[at]
        end = hunk.new_start + len(hunk.new)
        if lines[hunk.new_start : end] != hunk.new:
            raise ValueError("the file is not the one that the hunks belong to")
        lines[hunk.new_start : end] = hunk.old
    return b"".join(lines)


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    out = [line + b"\n" for line in data.split(b"\n")]
    last = out.pop()[:-1]
    return [*out, last] if last else out


def _groups(left: Sequence[bytes], right: Sequence[bytes]) -> list[list[Opcode]]:
    """Opcodes, in groups. Equal lines at the start and at the end are cut off first."""
    most = min(len(left), len(right))
    head = 0
    while head < most and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < most - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    skip, end = max(0, head - CONTEXT_LINES), max(0, tail - CONTEXT_LINES)
    a, b = left[skip : len(left) - end], right[skip : len(right) - end]
    if a == b:
        return []
    if len(a) + len(b) > COMPARED_LINES:
        lead, rest = head - skip, tail - end
        codes: list[Opcode] = [
            ("equal", 0, lead, 0, lead),
            ("replace", lead, len(a) - rest, lead, len(b) - rest),
            ("equal", len(a) - rest, len(a), len(b) - rest, len(b)),
        ]
        groups = [codes]
    else:
        groups = grouped(opcodes(a, b), CONTEXT_LINES)
    return [[(tag, i + skip, j + skip, k + skip, m + skip) for tag, i, j, k, m in group] for group in groups]


def _hunk(group: Sequence[Opcode], left: Sequence[bytes], right: Sequence[bytes]) -> Hunk:
    lines: list[tuple[str, bytes]] = []
    for tag, low, high, to_low, to_high in group:
        if tag == "equal":
            lines += [(" ", line) for line in left[low:high]]
            continue
        lines += [("-", line) for line in left[low:high]]
        lines += [("+", line) for line in right[to_low:to_high]]
    return Hunk(group[0][1], group[0][3], tuple(lines))


def _range(start: int, length: int) -> str:
    if not length:
        return f"{start},0"
    return f"{start + 1}" if length == 1 else f"{start + 1},{length}"
