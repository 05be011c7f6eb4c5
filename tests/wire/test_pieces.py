"""Joining what is there: nothing is lost, held back or left running, however a body comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.pieces import JOINED_BYTES, Pieces

CAME = st.lists(st.one_of(st.binary(max_size=40), st.none()), max_size=40)


async def body(came: list[bytes | None], failure: Exception | None = None) -> AsyncIterator[bytes]:
    """None stands for a wait."""
    for piece in came:
        if piece is None:
            await asyncio.sleep(0)
        else:
            yield piece
    if failure is not None:
        raise failure


async def taken(pieces: Pieces) -> list[bytes]:
    out: list[bytes] = []
    while True:
        data, count = pieces.ready()
        assert bool(data) == bool(count)
        if data:
            out.append(data)
            continue
        try:
            out.append(await pieces.wait())
        except StopAsyncIteration:
            return out


@given(CAME)
def test_all_comes_in_order(came: list[bytes | None]) -> None:
    got = asyncio.run(taken(Pieces(body(came))))
    assert b"".join(got) == b"".join(piece for piece in came if piece is not None)


async def test_what_is_there_is_joined_up_to_a_bound() -> None:
    pieces = Pieces(body([b"x" * 100] * 1000))
    data, count = pieces.ready()
    assert (len(data), count) == (JOINED_BYTES // 100 * 100 + 100, JOINED_BYTES // 100 + 1)


async def test_nothing_that_is_there_waits_for_what_is_not() -> None:
    never = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"
        await never.wait()
        yield b"c"

    pieces = Pieces(source())
    assert pieces.ready() == (b"ab", 2)
    assert pieces.ready() == (b"", 0)
    never.set()
    assert await pieces.wait() == b"c"


async def test_a_failure_comes_behind_what_came_before_it() -> None:
    pieces = Pieces(body([b"a", b"b"], OSError("gone")))
    assert pieces.ready() == (b"ab", 2)
    with pytest.raises(OSError, match="gone"):
        await pieces.wait()


@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_a_source_that_is_left_is_ended(how: str) -> None:
    ended = asyncio.Event()

    async def source() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    pieces = Pieces(source())
    assert pieces.ready() == (b"a", 1)
    assert not ended.is_set()
    if how == "close":
        await pieces.close()
    else:
        waiting = asyncio.create_task(pieces.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert ended.is_set()
