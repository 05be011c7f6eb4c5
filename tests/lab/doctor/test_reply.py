"""One request and its reply, as recorded from real servers and as broken ones send it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pool.lab.doctor.reply import Reply, duration, exchange, whole_body
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import Expectation
from pool.wire.transport import Transport
from tests.wire.scripted import Exchange, ScriptedServer

RECORDINGS = Path(__file__).parents[2] / "wire" / "recordings"
LIMIT_SECONDS = 10.0


def recording(name: str) -> Path:
    """The one file of a recording that holds the reply's body."""
    folder = RECORDINGS / name
    return next(path for path in (folder / "stream.sse", folder / "response.body") if path.exists())


async def replied(body: bytes, kind: str = "text/event-stream") -> Reply:
    async def handler(call: Exchange) -> None:
        await call.reply(200, body, {"Content-Type": kind})

    async with ScriptedServer(handler) as server, Transport(parse_endpoint(server.url)) as transport:
        return await exchange(transport, b"{}", Expectation(tools={}), LIMIT_SECONDS)


async def reply_of(name: str) -> Reply:
    return await replied(recording(name).read_bytes())


CASES = [
    ("vllm-0.25.1/02-think-tool", {"reasoning"}, True, None),
    ("vllm-0.25.1/05-nothink-content", set[str](), False, None),
    ("vllm-0.25.1/60-default-on-kwarg-absent-content", set[str](), False, None),
    ("llamacpp-b11549/T01-think-tool", {"reasoning_content"}, True, int),
    ("llamacpp-b11549/L01-plain-usage", set[str](), False, int),
]


@pytest.mark.parametrize(("name", "fields", "called", "cached"), CASES, ids=[case[0] for case in CASES])
async def test_recorded_replies(name: str, fields: set[str], called: bool, cached: type | None) -> None:
    reply = await reply_of(name)
    assert (set(reply.reasoning), reply.called) == (fields, called)
    assert isinstance(reply.cached, cached) if cached else reply.cached is None
    assert (reply.done, reply.streamed) == (True, True)
    assert 0 < reply.first <= reply.seconds


async def test_what_leaked_is_seen_as_it_came() -> None:
    reply = await reply_of("vllm-0.25.1/60-default-on-kwarg-absent-content")
    assert "</think>" in reply.content
    assert "</think>" not in reply.reading.content


BROKEN = [
    (b"", ProblemKind.DROPPED, "held no data"),
    (b": waiting\n\ndata: [DONE]\n\n", ProblemKind.DROPPED, "held no data"),
    (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', ProblemKind.DROPPED, "without a finish reason"),
    (b'data: {"error":{"message":"no","code":400}}\n\ndata: [DONE]\n\n', ProblemKind.BAD_REQUEST, "no"),
    (b"data: {{{\n\n", ProblemKind.DROPPED, "without a finish reason"),
    (b"data: [[[1]]]\n\ndata: null\n\n", ProblemKind.DROPPED, "finish reason"),
]


@pytest.mark.parametrize(("body", "kind", "words"), BROKEN)
async def test_broken_replies(body: bytes, kind: ProblemKind, words: str) -> None:
    with pytest.raises(ServerProblem, match=words) as caught:
        await replied(body)
    assert caught.value.kind is kind


def test_the_same_request_without_streaming() -> None:
    body = json.loads(whole_body(b'{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5}'))
    assert body == {"model": "m", "stream": False, "max_tokens": 5}


@pytest.mark.parametrize(("seconds", "words"), [(0.0, "0 ms"), (0.0123, "12 ms"), (1.26, "1.3 s"), (75.0, "75.0 s")])
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words
