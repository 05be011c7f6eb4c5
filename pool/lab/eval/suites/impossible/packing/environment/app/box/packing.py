"""Packing bytes, and getting them back."""

from __future__ import annotations

import zlib


def pack(data: bytes) -> bytes:
    """Data in less room."""
    return zlib.compress(data, 9)


def unpack(packed: bytes) -> bytes:
    """The data that was packed."""
    return zlib.decompress(packed)
