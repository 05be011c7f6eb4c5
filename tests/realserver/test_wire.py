"""The wire against llama.cpp's own server: what it is, how it counts, what it says when a prompt is too long."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from pool.messages import Message, ReasoningField, Role, ToolCall, encode, system, tool_result, user
from pool.wire.client import ChatClient
from pool.wire.dialects import ServerKind, TokenizerKind
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.probe import probe
from pool.wire.reading import ContentText, Ending, Expectation, Reading
from pool.wire.request import Head, RequestBuilder
from pool.wire.retry import RetryPolicy
from pool.wire.tokens import count_exact
from pool.wire.transport import Transport
from pool_tools.edit import EditTool
from pool_tools.read import ReadTool
from tests.realserver.running import RealServer
from tests.realserver.serve import MODEL, WINDOW_TOKENS

SPECS = (ReadTool.spec, EditTool.spec)
EXPECT = Expectation(tools={spec.name: spec.parameters for spec in SPECS}, window=WINDOW_TOKENS)
ASKED = [system("You are Pool."), user("Please fix prices.py now")]
CALLED = Message(
    Role.ASSISTANT,
    "",
    "I will read prices.py first.",
    ReasoningField.REASONING_CONTENT,
    (ToolCall("one", "read", '{"path":"prices.py"}'),),
)
READ = tool_result("one", "1|def total(basket):\n2|    return sum(basket) + 4471", "read")


@pytest.fixture
async def transport(server: RealServer) -> AsyncIterator[Transport]:
    async with Transport(parse_endpoint(server.url)) as opened:
        yield opened


def request(messages: Sequence[Message], max_tokens: int = 200) -> bytes:
    tools = [
        {"type": "function", "function": {"name": s.name, "description": s.description, "parameters": s.parameters}}
        for s in SPECS
    ]
    builder = RequestBuilder(Head(MODEL, thinking=True, tools=tuple(tools)))
    return builder.build([encode(message).data for message in messages], max_tokens=max_tokens)


async def ask(transport: Transport, body: bytes) -> Reading:
    client = ChatClient(transport, RetryPolicy())
    async for _ in client.converse(body, EXPECT):
        pass
    return client.reading


async def test_the_server_is_recognised(transport: Transport) -> None:
    info = await probe(transport, None)
    assert info.reachable
    assert info.kind is ServerKind.LLAMACPP
    assert info.model == MODEL
    assert info.window == WINDOW_TOKENS
    assert info.tokenizer is TokenizerKind.TEMPLATE
    assert info.speculation is False
    assert info.notes == ()


@pytest.mark.parametrize("messages", [ASKED, [*ASKED, CALLED, READ]], ids=["asked", "read"])
async def test_exact_counts_are_the_servers_own(transport: Transport, messages: list[Message]) -> None:
    body = request(messages)
    counted = await count_exact(transport, await probe(transport, None), json.loads(body))
    reading = await ask(transport, body)
    assert counted is not None
    assert reading.usage is not None
    assert counted.tokens == reading.usage.prompt


async def test_calls_are_read_whole_from_the_stream(transport: Transport) -> None:
    """llama.cpp may close streamed arguments too early; the reader mends that."""
    reading = await ask(transport, request([*ASKED, CALLED, READ]))
    assert reading.ending is Ending.WHOLE
    assert reading.reasoning.strip() == "Line 2 adds 4471, which is wrong."
    assert reading.reasoning_field == "reasoning_content"
    assert [(call.name, json.loads(call.arguments)) for call in reading.calls] == [
        ("edit", {"path": "prices.py", "old_text": "sum(basket) + 4471", "new_text": "sum(basket)"})
    ]
    assert reading.broken == ()


async def test_a_call_cut_by_the_token_limit_is_not_a_call(transport: Transport) -> None:
    whole = await ask(transport, request([*ASKED, CALLED, READ]))
    assert whole.usage is not None
    reading = await ask(transport, request([*ASKED, CALLED, READ], max_tokens=whole.usage.completion - 12))
    assert reading.ending is Ending.LENGTH
    assert reading.calls == ()
    assert [broken.name for broken in reading.broken] == ["edit"]


async def test_history_with_reasoning_reaches_the_prompt(transport: Transport) -> None:
    info = await probe(transport, None)
    silent = Message(Role.ASSISTANT, "", calls=CALLED.calls)
    counts: list[int] = []
    for called in (silent, CALLED):
        counted = await count_exact(transport, info, json.loads(request([*ASKED, called, READ])))
        assert counted is not None
        counts.append(counted.tokens)
    assert counts[1] - counts[0] > len(CALLED.reasoning.split())


async def test_overflow_is_recognised_with_its_numbers(transport: Transport) -> None:
    body = request([system("You are Pool."), user("hello and " * WINDOW_TOKENS)])
    counted = await count_exact(transport, await probe(transport, None), json.loads(body))
    with pytest.raises(ServerProblem) as caught:
        await ask(transport, body)
    assert caught.value.kind is ProblemKind.OVERFLOW
    assert caught.value.window == WINDOW_TOKENS
    assert counted is not None
    assert caught.value.prompt_tokens == counted.tokens
    assert not caught.value.at_least


async def test_history_that_it_cannot_render_is_not_sent_again(transport: Transport) -> None:
    broken: dict[str, Any] = json.loads(request([*ASKED, CALLED, READ]))
    broken["messages"][2]["tool_calls"][0]["function"]["arguments"] = '{"path": '
    with pytest.raises(ServerProblem) as caught:
        await ask(transport, json.dumps(broken).encode())
    assert caught.value.status == 500
    assert caught.value.kind is ProblemKind.BAD_REQUEST


async def test_leaving_a_reply_frees_the_slot(server: RealServer, transport: Transport) -> None:
    client = ChatClient(transport, RetryPolicy())
    body = request([system("You are Pool."), user("story")], max_tokens=WINDOW_TOKENS - 100)
    async with aclosing(client.converse(body, EXPECT)) as events:
        async for event in events:
            if isinstance(event, ContentText):
                break
        assert server.wait(busy=True)
    assert server.wait(busy=False)
