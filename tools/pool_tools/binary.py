"""Telling binary output from text, block by block and at the speed of copying."""

from __future__ import annotations

from collections.abc import Iterator

from pool_tools.text import visible

BINARY_SHARE = 0.3
"""Share of bytes that are no text from which on output counts as binary."""

BINARY_MIN_CONTROLS = 64
"""Fewer bytes than that which are no text never make output binary."""

BLOCK_BYTES = 16 * 1024
"""Output is judged in blocks of so many bytes."""

BLOCK_MIN_BYTES = 256
"""Smaller pieces are too little to be judged by themselves: they are text, or go on with what came before."""

HEAD_BYTES = 16
"""Bytes of a binary output that are shown, since formats have their marks at the beginning."""

_TEXT_BYTES = bytes({*range(0x20, 0x7F), *range(0x80, 0x100), *b"\b\t\n\v\f\r\x1b"})


def stray_bytes(data: bytes) -> int:
    """How many bytes of data are no text: controls that move nothing, and what is not UTF-8."""
    controls = len(data.translate(None, _TEXT_BYTES))
    if data.isascii():
        return controls
    return controls + len(data) - len(data.decode("utf-8", "ignore").encode())


def is_binary(stray: int, total: int) -> bool:
    """Whether so many bytes of total that are no text make it binary."""
    return stray >= BINARY_MIN_CONTROLS and stray > BINARY_SHARE * total


def blocks(data: bytes, was_binary: bool) -> Iterator[tuple[bytes, int | None]]:
    """data in pieces, each with the number of its stray bytes if it is binary, and with None if it is text."""
    if stray_bytes(data) < BINARY_MIN_CONTROLS and not was_binary:
        yield data, None
        return
    for start in range(0, len(data), BLOCK_BYTES):
        block = data[start : start + BLOCK_BYTES]
        stray = stray_bytes(block)
        if len(block) < BLOCK_MIN_BYTES:
            was_binary = was_binary and stray > BINARY_SHARE * len(block)
        else:
            was_binary = is_binary(stray, len(block))
        yield block, stray if was_binary else None


def beginning(data: bytes) -> str:
    """The first bytes of data, with escapes such as `\\x7f` for all that is no ASCII text."""
    return visible(data[:HEAD_BYTES].decode("ascii", "surrogateescape"))
