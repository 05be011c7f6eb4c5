"""Event-stream decoding: line ends, odd events, JSON bodies, and the same payloads for every cut."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.wire.sse import MAX_EVENT_BYTES, TOO_LARGE, SseDecoder


def payloads(pieces: list[bytes]) -> list[bytes]:
    decoder = SseDecoder()
    return [p for piece in pieces for p in decoder.feed(piece)] + decoder.close()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": waiting\n\n:\n\n:x\n\ndata: a\n\n", [b"a"]),
        (b"event: error\nid: 7\nretry: 9\ndata: a\n\n", [b"a"]),
        (b"data: a\n\ndata: last", [b"a", b"last"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"\n\n\ndata: a\n\n\n\n", [b"a"]),
        ("data: a\u2028b\x85c\n\n".encode(), ["a\u2028b\x85c".encode()]),
        (b'{"a": 1}', [b'{"a": 1}']),
        (b'{"a": 1}\n{"b": 2}\n', [b'{"a": 1}', b'{"b": 2}']),
        (b'{\n  "a": 1\n}\n', [b'{\n  "a": 1\n}\n']),
        (b"", []),
        (b"\n \n", []),
    ],
)
def test_payloads(stream: bytes, expected: list[bytes]) -> None:
    assert payloads([stream]) == expected
    assert payloads([stream[i : i + 1] for i in range(len(stream))]) == expected


PARTS = st.sampled_from(
    [b"data: ", b"data:", b"\n", b"\r", b"\r\n", b"\n\n", b": c", b"x", b"{", b'{"a":1}', b"\xef", b" "]
)


@settings(max_examples=400)
@given(st.lists(PARTS, max_size=24).map(b"".join), st.lists(st.integers(0, 200), max_size=8))
def test_payloads_do_not_depend_on_the_cuts(stream: bytes, cuts: list[int]) -> None:
    edges = sorted({c % (len(stream) + 1) for c in cuts} | {0, len(stream)})
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    assert payloads(pieces) == payloads([stream])


PIECE = b"x" * 65_536
"""What one read from a socket hands over at most."""


@pytest.mark.parametrize("start", [b"data: ", b"{", b'{"a":1}\n{', b"{\n"])
def test_a_part_without_end_ends_the_body(start: bytes) -> None:
    """64 MiB of one event or JSON body are refused early, and in far less time than the limit of a test."""
    decoder = SseDecoder()
    out = decoder.feed(start)
    for _ in range(1024):
        out += decoder.feed(PIECE)
    assert out[-1] == TOO_LARGE
    assert out.count(TOO_LARGE) == 1
    assert decoder.feed(b"\n\ndata: a\n\n") + decoder.close() == []


def test_a_large_event_at_once_is_refused_too() -> None:
    assert payloads([b"data: a\n\ndata: " + b"x" * (MAX_EVENT_BYTES + 1) + b"\n\ndata: b\n\n"]) == [b"a", TOO_LARGE]


def test_an_event_in_many_pieces_is_put_together() -> None:
    assert payloads([b"data: ", *[PIECE] * 128, b"\n\n"]) == [PIECE * 128]
    assert payloads([b"{", *[b"x"] * 100_000]) == [b"{" + b"x" * 100_000]


@pytest.mark.parametrize("line", [b": waiting\n", b":" + PIECE, b"event: x\n", b"\n"])
def test_comments_without_end_are_not_kept(line: bytes) -> None:
    decoder = SseDecoder()
    out: list[bytes] = []
    tracemalloc.start()
    try:
        for _ in range(1024):
            out += decoder.feed(line)
            out += decoder.feed(line * 8)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024
    assert out + decoder.feed(b"\n\ndata: a\n\n") == [b"a"]
