"""Taking apart compressed bodies as they arrive.

Pool asks for `identity`; some gateways compress all the same, and some of them each event by itself, which makes a
stream of several gzip members one after the other.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE_BYTES = 1 << 16
"""Most bytes handed on at a time, so that a small frame that inflates to much fills no memory and blocks nobody."""

_AUTO = zlib.MAX_WBITS | 32
_RAW = -zlib.MAX_WBITS
KNOWN_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})


class Inflater:
    """Inflates gzip and deflate (with or without zlib's header) incrementally. `feed` raises `zlib.error`."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(_AUTO)
        self._head: bytes | None = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bytes that can be had after data, in pieces of at most `PIECE_BYTES`."""
        while data:
            if self._inner.eof:
                self._inner = zlib.decompressobj(_AUTO)
            piece = self._inflate(data)
            while piece:
                yield piece
                piece = b"" if self._inner.eof else self._inner.decompress(self._inner.unconsumed_tail, PIECE_BYTES)
            data = self._inner.unused_data

    def _inflate(self, data: bytes) -> bytes:
        if self._head is None:
            return self._inner.decompress(data, PIECE_BYTES)
        self._head += data
        try:
            piece = self._inner.decompress(data, PIECE_BYTES)
        except zlib.error:
            # Some servers take `deflate` to mean the bare format; that shows in the first bytes.
            self._inner = zlib.decompressobj(_RAW)
            piece = self._inner.decompress(self._head, PIECE_BYTES)
        if piece:
            self._head = None
        return piece
