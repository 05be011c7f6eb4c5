from __future__ import annotations

import gzip
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.inflate import PIECE_BYTES, Inflater


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def inflate(data: bytes, cuts: list[int]) -> bytes:
    inflater = Inflater()
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    pieces = [data[a:b] for a, b in itertools.pairwise(edges)]
    return b"".join(out for piece in pieces for out in inflater.feed(piece))


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=6), st.lists(st.integers(0, 400), max_size=8))
def test_members_one_after_the_other_however_cut(parts: list[bytes], cuts: list[int]) -> None:
    packed = b"".join(gzip.compress(part) for part in parts)
    assert inflate(packed, cuts) == b"".join(parts)


@given(st.binary(max_size=300), st.lists(st.integers(0, 400), max_size=8))
def test_both_meanings_of_deflate(data: bytes, cuts: list[int]) -> None:
    assert inflate(zlib.compress(data), cuts) == data
    assert inflate(raw_deflate(data), cuts) == data


def test_what_was_flushed_is_handed_on_at_once() -> None:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    inflater = Inflater()
    for text in (b"data: one\n\n", b"data: two\n\n"):
        flushed = packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
        assert b"".join(inflater.feed(flushed)) == text


def test_a_small_frame_that_grows_large_comes_in_pieces() -> None:
    size = 5 * PIECE_BYTES + 17
    pieces = list(Inflater().feed(gzip.compress(bytes(size))))
    assert sum(map(len, pieces)) == size
    assert max(map(len, pieces)) <= PIECE_BYTES


def test_garbage_is_an_error() -> None:
    with pytest.raises(zlib.error):
        list(Inflater().feed(b"data: this was never compressed\n\n" * 3))
