"""Changes of a file as blocks of lines without context: telling apart whose they are, taking some, merging."""

from __future__ import annotations

from collections.abc import Sequence

from pool.sessions.checkpoints.textdiff import hunks_of, is_binary
from pool_tools.frozen import frozen


@frozen
class Block:
    """Lines of the old text from `start` on that become `new`; one of the two may be empty. Lines keep their ends."""

    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.old)

    def touches(self, other: Block) -> bool:
        """Whether both change the same lines, or stand at the same place, so that they cannot be told apart."""
        return self.start <= other.end and other.start <= self.end


def blocks_of(old: bytes, new: bytes) -> list[Block]:
    """The changes from old to new, in order; [] if either is no text."""
    out: list[Block] = []
    for hunk in hunks_of(old, new):
        at, start = hunk.old_start, hunk.old_start
        gone: list[bytes] = []
        come: list[bytes] = []
        for sign, line in (*hunk.lines, (" ", b"")):
            if sign == "-":
                gone.append(line)
                at += 1
            elif sign == "+":
                come.append(line)
            else:
                if gone or come:
                    out.append(Block(start, tuple(gone), tuple(come)))
                    gone, come = [], []
                at += 1
                start = at
    return out


def applied(old: bytes, blocks: Sequence[Block]) -> bytes:
    """old with some of its blocks applied, of which none touches another. Raises `ValueError` if one does not fit."""
    lines = lines_of(old)
    for block in sorted(blocks, key=lambda b: b.start, reverse=True):
        if tuple(lines[block.start : block.end]) != block.old:
            raise ValueError("the file is not the one that the changes belong to")
        lines[block.start : block.end] = block.new
    return b"".join(lines)


def lines_of(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    out = [line + b"\n" for line in data.split(b"\n")]
    last = out.pop()[:-1]
    return [*out, last] if last else out


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """ours with what changed from base to theirs; None where both changed the same lines in different ways."""
    if base == theirs or ours == theirs:
        return ours
    if base == ours:
        return theirs
    if any(map(is_binary, (base, ours, theirs))):
        return None
    mine, other = blocks_of(base, ours), blocks_of(base, theirs)
    new = [block for block in other if block not in mine]
    if any(one.touches(block) for one in mine if one not in other for block in new):
        return None
    return applied(base, [*mine, *new])
