"""Odd envelopes that any server may send: each gives the reading of the plain one, over a real socket."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from pool.wire.client import AFTER_DONE_SECONDS
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import Ending
from tests.cases.client import receive, receive_from
from tests.cases.driver import DONE, Json, Step, broken, chunk, delta, finish, piece, send, usage, whole
from tests.wire.scripted import Exchange

RUN = ("shell", {"command": "ls"})
ARGUMENTS = '{"command":"ls"}'
ITEM: Json = {"index": 0, "id": "c1", "function": {"name": "shell", "arguments": ARGUMENTS}}
COUNTS = {"prompt_tokens": 100, "completion_tokens": 9}
EMOJI = "🚀"


def choice(**keys: Any) -> bytes:
    """A chunk whose one choice has just these keys."""
    return chunk({"choices": [keys]})


CONTENT: dict[str, list[bytes]] = {
    "first delta with a role only": [delta(role="assistant"), delta(content="Fine."), finish("stop")],
    "choices empty": [chunk({"choices": []}), delta(content="Fine."), chunk({"choices": []}), finish("stop")],
    "choices null": [chunk({"choices": None}), delta(content="Fine."), finish("stop")],
    "no choices": [chunk({"id": "x"}), delta(content="Fine."), finish("stop")],
    "delta empty": [delta(), delta(content="Fine."), delta(), finish("stop")],
    "delta null": [choice(delta=None), delta(content="Fine."), choice(delta=None, finish_reason="stop")],
    "no delta": [choice(index=0), delta(content="Fine."), choice(finish_reason="stop")],
    "content null": [delta(content=None), delta(content="Fine."), delta(content=None), finish("stop")],
    "content in parts": [
        delta(content=[{"type": "text", "text": "Fi"}, {"type": "text", "text": "ne."}]),
        finish("stop"),
    ],
    "role in every delta": [delta(role="assistant", content=c) for c in "Fine."] + [finish("stop")],
    "finish reason beside data": [delta(content="Fine"), delta("stop", content=".")],
    "finish reason twice": [delta(content="Fine."), finish("stop"), finish("stop")],
    "finish reason empty before": [delta("", content="Fine."), finish("stop")],
    "usage before the finish": [delta(content="Fine."), usage(100, 9), finish("stop")],
    "usage after the finish": [delta(content="Fine."), finish("stop"), usage(100, 9)],
    "usage in the finish chunk": [
        delta(content="Fine."),
        chunk({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": COUNTS}),
    ],
    "usage in every chunk": [
        chunk({"choices": [{"delta": {"content": "Fine."}}], "usage": {"prompt_tokens": 100, "completion_tokens": 5}}),
        chunk({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": COUNTS}),
    ],
    "comments": [b": keepalive 10/200\n\n", delta(content="Fine."), b": OPENROUTER PROCESSING\n\n", finish("stop")],
    "other field lines": [b"event: message\nid: 7\nretry: 100\n" + delta(content="Fine."), finish("stop")],
    "no space after the colon": [delta(content="Fine.").replace(b"data: ", b"data:"), finish("stop")],
    "CR LF": [delta(content="Fine.").replace(b"\n", b"\r\n"), finish("stop").replace(b"\n", b"\r\n")],
    "a byte order mark": [b"\xef\xbb\xbf" + delta(content="Fine."), finish("stop")],
    "unknown keys": [delta(content="Fine.", refusal=None, annotations=[]), chunk({"stats": {}}), finish("stop")],
    "an event that is no JSON": [b"data: ping\n\n", delta(content="Fine."), finish("stop")],
}


@pytest.mark.parametrize("name", CONTENT)
async def test_content_in_odd_envelopes(name: str) -> None:
    got = await receive(*CONTENT[name])
    assert (got.reading.content, got.reading.ending) == ("Fine.", Ending.WHOLE)
    assert got.shown == ("", "Fine.")
    if name.startswith("usage"):
        assert got.reading.usage is not None
        assert (got.reading.usage.prompt, got.reading.usage.completion) == (100, 9)


def items(*calls: Json) -> bytes:
    return delta(tool_calls=list(calls))


CALLS: dict[str, list[bytes]] = {
    "whole in one delta": [whole("shell", command="ls")],
    "no index": [piece(None, id="c1", name="shell", arguments='{"command"'), piece(None, arguments=':"ls"}')],
    "index as text": [items({"index": "0", "id": "c1", "function": {"name": "shell", "arguments": ARGUMENTS}})],
    "no id": [piece(name="shell", arguments=""), piece(arguments=ARGUMENTS)],
    "empty id": [piece(id="", name="shell", arguments=""), piece(id="", arguments=ARGUMENTS)],
    "id and name repeated": [piece(id="c1", name="shell", arguments=part) for part in ('{"comm', 'and":"', 'ls"}')],
    "another id in each piece": [
        piece(id=f"c{n}", name="shell", arguments=part) for n, part in enumerate(('{"comm', 'and":"', 'ls"}'))
    ],
    "arguments as an object": [piece(id="c1", name="shell", arguments={"command": "ls"})],
    "arguments encoded twice": [piece(id="c1", name="shell", arguments=json.dumps(ARGUMENTS))],
    "arguments closed too often": [piece(id="c1", name="shell", arguments='{"command":"ls"}}')],
    "arguments before the name": [piece(id="c1", arguments='{"command"'), piece(name="shell", arguments=':"ls"}')],
    "function flat in the item": [items({"index": 0, "id": "c1", "name": "shell", "arguments": ARGUMENTS})],
    "tool_calls null elsewhere": [delta(tool_calls=None), whole("shell", command="ls"), delta(tool_calls=[])],
    "beside the finish reason": [delta("tool_calls", tool_calls=[ITEM])],
}


@pytest.mark.parametrize("name", CALLS)
async def test_calls_in_odd_envelopes(name: str) -> None:
    got = await receive(*CALLS[name], finish("tool_calls"))
    assert (got.calls, got.reading.broken, got.reading.ending) == ([RUN], (), Ending.WHOLE)


@pytest.mark.parametrize("indices", [(0, 1), (1, 0), (3, 7)])
async def test_two_calls_whose_pieces_alternate(indices: tuple[int, int]) -> None:
    first, second = indices
    pieces = [
        piece(first, id="a", name="shell", arguments='{"comm'),
        piece(second, id="b", name="read", arguments='{"pa'),
        piece(first, arguments='and":"ls"}'),
        piece(second, arguments='th":"x"}'),
    ]
    got = await receive(*pieces, finish("tool_calls"))
    assert got.calls == [RUN, ("read", {"path": "x"})]


async def test_reasoning_content_and_call_in_one_delta() -> None:
    """Several accepted draft tokens in one step."""
    got = await receive(delta(reasoning="I look.", content="So.", tool_calls=[ITEM]), finish("tool_calls"))
    assert (got.texts, got.calls) == (("I look.", "So."), [RUN])


# -- bytes


def raw(*writes: bytes) -> Step:
    """A step that sends these writes as they are."""

    async def step(exchange: Exchange) -> None:
        await exchange.start()
        for data in writes:
            await exchange.chunk(data)
        await exchange.finish()

    return step


@pytest.mark.parametrize("text", ["é", "日本", EMOJI, "👩‍💻", "\u2028", "\x85"])
async def test_characters_cut_between_writes(text: str) -> None:
    event = delta(content=text)
    at = event.index(text.encode())
    for cut in range(at, at + len(text.encode())):
        got = await receive_from(raw(event[:cut], event[cut:], finish("stop"), DONE))
        assert got.reading.content == text


async def test_a_surrogate_pair_cut_between_deltas() -> None:
    high, low = (b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % half for half in (rb"\ud83d", rb"\ude80"))
    got = await receive_from(raw(high, low, finish("stop"), DONE))
    assert got.reading.content == EMOJI
    alone = await receive_from(raw(high, finish("stop"), DONE))
    assert alone.reading.content == "\ufffd"


async def test_a_replacement_character_at_a_token_border_stays_one() -> None:
    got = await receive(delta(content="a\ufffd"), delta(content="b"), finish("stop"))
    assert got.reading.content == "a\ufffdb"


@pytest.mark.parametrize("tail", [b"", b"\n", b"\n\n", b"\ndata: [DONE]", b"\n\ndata: [DONE]\n"])
async def test_ends_without_a_blank_line_or_done(tail: bytes) -> None:
    """The finish reason says that the reply is whole."""
    got = await receive_from(raw(delta(content="Fine."), finish("stop").rstrip() + tail))
    assert (got.reading.content, got.reading.ending) == ("Fine.", Ending.WHOLE)


async def test_done_without_a_finish_reason_is_no_end() -> None:
    """vLLM sends `[DONE]` after an error too."""
    with pytest.raises(ServerProblem) as caught:
        await receive(delta(content="Fine."))
    assert (caught.value.kind, caught.value.received) == (ProblemKind.DROPPED, True)


async def test_a_body_cut_after_done_is_whole() -> None:
    """A server or proxy that closes without ending the body: all was said."""
    got = await receive_from(broken("close", delta(content="Fine."), finish("stop"), DONE))
    assert (got.reading.content, got.reading.ending) == ("Fine.", Ending.WHOLE)


async def test_a_body_left_open_after_done_is_not_waited_for() -> None:
    async def step(exchange: Exchange) -> None:
        await exchange.start()
        await send(exchange, delta(content="Fine."), finish("stop"), DONE)
        await asyncio.sleep(60)

    begun = time.monotonic()
    got = await receive_from(step)
    assert got.reading.content == "Fine."
    assert time.monotonic() - begun < 3 * AFTER_DONE_SECONDS


async def test_a_body_cut_after_the_finish_reason() -> None:
    """The connection breaks where only `[DONE]` is missing: the body was not whole, it is asked for again."""
    with pytest.raises(ServerProblem) as caught:
        await receive_from(broken("close", delta(content="Fine."), finish("stop")))
    assert caught.value.kind is ProblemKind.DROPPED


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ({"error": {"message": "engine stopped", "code": 500}}, ProblemKind.SERVER_ERROR, "engine stopped"),
        ({"error": "out of memory"}, ProblemKind.SERVER_ERROR, "out of memory"),
        ({"error": {"message": "bad grammar", "type": "BadRequestError"}}, ProblemKind.BAD_REQUEST, "bad grammar"),
        ({"error": {"object": "error", "message": "busy", "code": 429}}, ProblemKind.BUSY, "busy"),
    ],
)
async def test_error_events(error: Json, kind: ProblemKind, text: str) -> None:
    with pytest.raises(ServerProblem, match=text) as caught:
        await receive(delta(content="Working"), chunk(error))
    assert caught.value.kind is kind
