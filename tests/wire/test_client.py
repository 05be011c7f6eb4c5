"""The chat client against real sockets: replies without end, and bodies that are no reply."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

from pool.wire.client import ChatClient
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import LEAST_REPLY_CHARS, REPLY_TOO_LONG, Ending, Expectation, Reading
from pool.wire.retry import RetryPolicy
from pool.wire.trace import TraceWriter
from pool.wire.transport import Transport
from tests.wire.scripted import Exchange, Handler, ScriptedServer

EXPECT = Expectation(tools={"shell": {"type": "object"}}, max_tokens=64)
ONCE = RetryPolicy(base_seconds=0.01, cap_seconds=0.01)


def event(**delta: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


async def converse(handler: Handler, expect: Expectation = EXPECT) -> tuple[Reading, int]:
    async with ScriptedServer(handler) as server, Transport(parse_endpoint(server.url)) as transport:
        client = ChatClient(transport, ONCE)
        async for _ in client.converse(b"{}", expect):
            pass
        return client.reading, len(server.requests)


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "word " * 8000},
        {"reasoning": "word " * 8000},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "shell", "arguments": "x" * 40_000}}]},
    ],
)
async def test_a_reply_without_end_is_cut(delta: dict[str, Any]) -> None:
    """A server that overlooks `max_tokens` streams until nobody reads any more."""

    async def endless(exchange: Exchange) -> None:
        await exchange.start()
        while True:
            await exchange.chunk(event(**delta))

    async with asyncio.timeout(30):
        reading, requests = await converse(endless)
    assert (reading.ending, requests) == (Ending.LENGTH, 1)
    assert REPLY_TOO_LONG in reading.repairs
    assert not reading.calls
    assert len(reading.content) + len(reading.reasoning) <= LEAST_REPLY_CHARS
    assert bool(reading.broken) == ("tool_calls" in delta)


@pytest.mark.parametrize(
    ("body", "begins"),
    [
        (b"<html><body>Please log in</body></html>", "<html>"),
        (b"\x00\x01\x02\xff garbage", "garbage"),
        (b"data: <html>\n\ndata: </html>\n\n", "<html>"),
        (b"Internal Server Error\n", "Internal Server Error"),
    ],
)
async def test_a_body_that_is_no_event_stream_is_called_so(body: bytes, begins: str) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(body)
        await exchange.finish()

    with pytest.raises(ServerProblem) as caught:
        await converse(handler)
    assert caught.value.kind is ProblemKind.NOT_A_SERVER
    assert "no event stream" in caught.value.message
    assert begins in caught.value.message
    assert caught.value.message.isprintable()


async def test_a_stream_of_comments_only_sent_no_data() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(b": waiting\n\nevent: ping\n\n")
        await exchange.finish()

    with pytest.raises(ServerProblem) as caught:
        await converse(handler)
    assert (caught.value.kind, caught.value.message) == (ProblemKind.DROPPED, "the server sent no data")


async def test_an_event_without_end_is_a_failure_of_the_server() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.chunk(b"data: ")
        while True:
            await exchange.chunk(b"x" * 1_000_000)

    async with asyncio.timeout(30):
        with pytest.raises(ServerProblem) as caught:
            await converse(handler)
    assert caught.value.kind is ProblemKind.SERVER_ERROR
    assert "larger than 16 MiB" in caught.value.message


async def test_others_get_their_turn_while_a_small_frame_inflates_to_much() -> None:
    bomb = gzip.compress(event(content="<user>" * 50) * 20_000)

    async def handler(exchange: Exchange) -> None:
        await exchange.start({"Content-Encoding": "gzip"})
        await exchange.chunk(bomb)
        await exchange.finish()

    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    ticking = asyncio.create_task(tick())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await converse(handler, Expectation(tools={}))
    ticking.cancel()
    assert longest < 2.0, "in seconds, on a machine that does other things too"


async def test_the_client_says_why_there_is_no_trace(tmp_path: Path) -> None:
    endpoint = parse_endpoint("h")
    async with Transport(endpoint) as transport:
        assert ChatClient(transport, ONCE).trace_failure == ""
        trace = TraceWriter(tmp_path / "typo" / "t", endpoint)
        assert "does not exist" in ChatClient(transport, ONCE, trace=trace).trace_failure
