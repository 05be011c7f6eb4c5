"""One reply, read by the chat client from a real socket: what it meant, and what was shown on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pool.wire.client import ChatClient, ClientEvent
from pool.wire.endpoint import parse_endpoint
from pool.wire.reading import ContentText, ContentWasReasoning, Expectation, Reading, ReasoningText
from pool.wire.retry import RetryPolicy
from pool.wire.transport import Transport
from tests.cases.driver import Step, say
from tests.wire.scripted import ScriptedServer

TEXT = {"type": "string"}
TOOLS: dict[str, dict[str, Any]] = {
    "shell": {"type": "object", "properties": {"command": TEXT}, "required": ["command"]},
    "write": {"type": "object", "properties": {"path": TEXT, "content": TEXT}, "required": ["path", "content"]},
    "read": {"type": "object", "properties": {"path": TEXT, "offset": {"type": "integer"}}, "required": ["path"]},
    "list": {"type": "object", "properties": {"path": TEXT}, "required": []},
}
MAX_TOKENS = 64
EXPECT = Expectation(tools=TOOLS, max_tokens=MAX_TOKENS, window=4096)


@dataclass(frozen=True, slots=True)
class Received:
    """A reading, and the events on the way to it."""

    reading: Reading
    events: Sequence[ClientEvent]

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and arguments of each call that may be run."""
        return [(call.name, json.loads(call.arguments)) for call in self.reading.calls]

    @property
    def texts(self) -> tuple[str, str]:
        """Reasoning and content, without outer blanks."""
        return self.reading.reasoning.strip(), self.reading.content.strip()

    @property
    def shown(self) -> tuple[str, str]:
        """What a face shows at the end: reasoning and content."""
        reasoning = content = ""
        for event in self.events:
            match event:
                case ReasoningText(text=text):
                    reasoning += text
                case ContentText(text=text):
                    content += text
                case ContentWasReasoning():
                    reasoning, content = reasoning + content, ""
                case _:
                    pass
        return reasoning, content


async def receive_from(step: Step, expect: Expectation = EXPECT) -> Received:
    """Ask a server that answers with step. Raises `ServerProblem`."""
    async with ScriptedServer(step) as server, Transport(parse_endpoint(server.url)) as transport:
        client = ChatClient(transport, RetryPolicy(base_seconds=0.01, cap_seconds=0.02))
        events = [event async for event in client.converse(b"{}", expect)]
        return Received(client.reading, events)


async def receive(*events: bytes, expect: Expectation = EXPECT) -> Received:
    """Ask a server that answers with events and `[DONE]`."""
    return await receive_from(say(*events), expect)
