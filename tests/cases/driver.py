"""The real agent before a model server that plays a script on a real socket.

The script's notation: `delta` is one chunk with a delta, `piece` one with a part of a tool call, `finish` one with a
finish reason, `usage` the chunk without choices. A `Step` answers one chat request; the last step answers all further
ones. The server refuses, as a strict one does, any history that is not valid or that does not just grow.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from pool.agent.approvals import NobodyThere
from pool.agent.factory import Session, open_session
from pool.agent.ids import new_id
from pool.agent.state import Stop
from pool.config.settings import Mode, SandboxChoice, Settings
from pool.events import (
    Body,
    CallFinished,
    ContentDelta,
    ContentRetracted,
    Event,
    MessageAdded,
    ReasoningDelta,
    RunFinished,
    StopReason,
    TurnFinished,
    TurnStarted,
)
from tests.wire.scripted import Exchange, ScriptedServer

MODEL = "laguna-test"
WINDOW_TOKENS = 65_536
UNTIL_SECONDS = 10.0
POLL_SECONDS = 0.005
PROMPT = "Do it."
STOP = Stop(StopReason.INTERRUPTED, "the test asks")

Json = dict[str, Any]
How = Literal["close", "reset", "end"]
Step = Callable[[Exchange], Awaitable[None]]
B = TypeVar("B", bound=Body)

DONE = b"data: [DONE]\n\n"


# -- chunks


def chunk(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return chunk({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def piece(index: int | None = 0, **keys: Any) -> bytes:
    """One `tool_calls` item with just these keys: id and type beside the index, name and arguments in `function`."""
    item: Json = {} if index is None else {"index": index}
    item |= {key: keys[key] for key in ("id", "type") if key in keys}
    item["function"] = {key: keys[key] for key in ("name", "arguments") if key in keys}
    return delta(tool_calls=[item])


def whole(name: str, call_id: str = "c1", /, *, index: int = 0, **arguments: Any) -> bytes:
    """A whole call in one chunk."""
    return piece(index, id=call_id, type="function", name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def finish(reason: str, stop: str | int | None = None) -> bytes:
    return chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": reason, "stop_reason": stop}]})


def usage(prompt: int, completion: int) -> bytes:
    return chunk({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}})


# -- steps


async def send(exchange: Exchange, *events: bytes) -> None:
    """Each event as a chunk of the body, in one write each."""
    for event in events:
        await exchange.chunk(event)


def say(*events: bytes) -> Step:
    """A whole stream, ended in order."""

    async def step(exchange: Exchange) -> None:
        await exchange.start()
        await send(exchange, *events, DONE)
        await exchange.finish()

    return step


def broken(how: How, *events: bytes) -> Step:
    """A stream that stops: the connection closed or reset in the body, or the body ended without a finish reason."""

    async def step(exchange: Exchange) -> None:
        await exchange.start()
        await send(exchange, *events)
        match how:
            case "close":
                exchange.drop()
            case "reset":
                exchange.reset()
            case "end":
                await exchange.finish()

    return step


def answer(text: str) -> Step:
    return say(delta(role="assistant", content=""), delta(content=text), finish("stop"), usage(100, 5))


def call(name: str, call_id: str = "c1", /, **arguments: Any) -> Step:
    return say(whole(name, call_id, **arguments), finish("tool_calls"), usage(100, 5))


def refuse(status: int, message: str, **headers: str) -> Step:
    async def step(exchange: Exchange) -> None:
        error = {"error": {"message": message, "type": "server_error", "code": status}}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        await exchange.reply(status, json.dumps(error), names)

    return step


# -- the server


class ModelServer(ScriptedServer):
    """Plays steps, one a chat request. bodies are the chat requests' bodies; complaints say what was wrong with them.

    It can go down, cutting every connection, and come up again on the same port.
    """

    def __init__(self, *steps: Step, host: str = "127.0.0.1") -> None:
        super().__init__(self._answer, host)
        self.steps = list(steps)
        self.bodies: list[Json] = []
        self.chats: list[Exchange] = []
        self.complaints: list[str] = []

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.method == "GET":
            await self._describe(exchange)
            return
        body = cast(Json, json.loads(exchange.body))
        before = self.bodies[-1] if self.bodies else body
        switched = "the thinking switch changed" if switch(body) is not switch(before) else ""
        complaint = objection(body, None if before is body else before) or switched
        self.bodies.append(body)
        self.chats.append(exchange)
        if complaint:
            self.complaints.append(complaint)
            await refuse(400, complaint)(exchange)
            return
        await self.steps[min(len(self.bodies), len(self.steps)) - 1](exchange)

    @staticmethod
    async def _describe(exchange: Exchange) -> None:
        if exchange.path.endswith("/models"):
            model = {"id": MODEL, "owned_by": "vllm", "max_model_len": WINDOW_TOKENS}
            await exchange.reply_json({"object": "list", "data": [model]})
        else:
            await exchange.reply_json({"detail": "Not Found"}, 404)

    async def down(self) -> None:
        """Stop listening and cut every connection."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        for task in list(self._tasks):
            if task is not asyncio.current_task():
                task.cancel()

    async def up(self) -> None:
        """Listen again on the port of before."""
        self._server = await asyncio.start_server(self._serve, self._host, self.port)


def switch(body: Json) -> Any:
    """The thinking switch of a request."""
    return body["chat_template_kwargs"]["enable_thinking"]


def objection(body: Json, before: Json | None) -> str:
    """What a strict server would refuse in a request, or what would cost its prefix cache; "" if nothing."""
    if body.get("stream") is not True or not body["stream_options"]["include_usage"]:
        return "every request streams and asks for usage"
    if not isinstance(switch(body), bool):
        return "the thinking switch is no boolean"
    if not body.get("tools") or body.get("max_tokens", 0) < 1:
        return "tools and max_tokens are always sent"
    messages = settled(body)
    return _roles(messages) or _calls(messages) or (_growth(body, before) if before else "")


def settled(body: Json) -> list[Json]:
    """The messages, without one that the reply is to go on with (vLLM's `continue_final_message`)."""
    messages = cast("list[Json]", body["messages"])
    return messages[:-1] if body.get("continue_final_message") and messages[-1]["role"] == "assistant" else messages


def _roles(messages: list[Json]) -> str:
    roles = [str(message["role"]) for message in messages]
    if roles[:2] != ["system", "user"] or "system" in roles[1:]:
        return f"roles begin with {roles[:2]}"
    for first, second in pairwise(roles):
        if first == second and first in ("user", "assistant"):
            return f"conversation roles must alternate, found {first} after {first}"
    for message in messages:
        if not isinstance(message["content"], str):
            return "content is no text"
        if message["role"] == "assistant" and not message["content"].strip() and not message.get("tool_calls"):
            return "an assistant message is empty"
    return ""


def _calls(messages: list[Json]) -> str:
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                return f"the result of {message['tool_call_id']} is out of place"
            continue
        if waiting:
            return f"no result for the calls {waiting}"
        for item in message.get("tool_calls", []):
            function = item["function"]
            if item["type"] != "function" or not item["id"] or not function["name"]:
                return f"an incomplete call: {item}"
            if item["id"] in seen:
                return f"the id {item['id']} is used twice"
            try:
                arguments: Any = json.loads(function["arguments"])
            except ValueError:
                return f"arguments are no JSON: {function['arguments']}"
            if not isinstance(arguments, dict):
                return f"arguments are no object: {function['arguments']}"
            seen.add(item["id"])
            waiting.append(item["id"])
    return f"no result for the calls {waiting}" if waiting else ""


def _growth(body: Json, before: Json) -> str:
    for name in ("model", "tools"):
        if body[name] != before[name]:
            return f"{name} changed within a session"
    old, new = settled(before), settled(body)
    if new[: len(old) - 1] != old[:-1] or len(new) < len(old):
        return "the history was rewritten"
    last = old[-1]
    grown = last["role"] == "user" and new[len(old) - 1]["content"].startswith(last["content"])
    return "" if new[len(old) - 1] == last or grown else "the last message was rewritten"


# -- the agent


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a prompt: the last event, and all events of the run."""

    finished: RunFinished
    events: Sequence[Event]

    @property
    def reason(self) -> StopReason:
        return self.finished.reason

    @property
    def answer(self) -> str:
        return self.finished.answer

    def of(self, kind: type[B]) -> list[B]:
        """Bodies of one kind, in order."""
        return [event.body for event in self.events if isinstance(event.body, kind)]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Name and status of each call."""
        return [(c.name, c.status) for c in self.of(CallFinished)]

    @property
    def repairs(self) -> list[str]:
        return [repair for turn in self.of(TurnFinished) for repair in turn.repairs]

    @property
    def said(self) -> list[str]:
        """Contents of the assistant messages that the history kept."""
        added = [json.loads(m.text) for m in self.of(MessageAdded) if m.role == "assistant"]
        return [message["content"] for message in added]

    @property
    def shown(self) -> list[tuple[str, str]]:
        """What a face shows of each turn at its end: reasoning and content."""
        turns: list[tuple[str, str]] = []
        for event in self.events:
            match event.body:
                case TurnStarted():
                    turns.append(("", ""))
                case ReasoningDelta(text=text):
                    turns[-1] = (turns[-1][0] + text, turns[-1][1])
                case ContentDelta(text=text):
                    turns[-1] = (turns[-1][0], turns[-1][1] + text)
                case ContentRetracted(as_="reasoning"):
                    turns[-1] = ("".join(turns[-1]), "")
                case ContentRetracted():
                    turns[-1] = ("", "")
                case _:
                    pass
        return turns

    @property
    def ever_shown(self) -> str:
        """Everything that was shown as content, also what was taken back."""
        return "".join(body.text for body in self.of(ContentDelta))


class Driver:
    """A session under test. events are those so far."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.events: list[Event] = []

    async def run(self, prompt: str = PROMPT) -> Run:
        """Work a prompt to its end."""
        begun = len(self.events)
        finished = await self.session.agent.run(prompt, new_id())
        await self.until(lambda event: event.body is finished)
        return Run(finished, self.events[begun:])

    async def until(self, test: Callable[[Event], bool]) -> Event:
        """The first event so far, or to come, that passes the test. Raises TimeoutError."""
        async with asyncio.timeout(UNTIL_SECONDS):
            while True:
                for event in self.events:
                    if test(event):
                        return event
                await asyncio.sleep(POLL_SECONDS)

    async def until_body(self, kind: type[Body], text: str = "") -> Event:
        """Wait for a body of a kind, whose representation holds text."""
        return await self.until(lambda event: isinstance(event.body, kind) and text in repr(event.body))

    async def stop(self, running: asyncio.Task[Run]) -> tuple[Run, float]:
        """Press Esc; the run and how long it took to end."""
        pressed = time.monotonic()
        self.session.agent.stop(STOP)
        run = await running
        return run, time.monotonic() - pressed


@asynccontextmanager
async def driving(base_url: str, workspace: Path, **changes: Any) -> AsyncGenerator[Driver]:
    """A session with a server, in a workspace that is made; changes are fields of `Settings`."""
    workspace.mkdir(exist_ok=True)
    settings = Settings(
        workspace,
        base_url=base_url,
        model=MODEL,
        mode=Mode.ALLOW_ALL,
        sandbox=SandboxChoice.OFF,
        first_contact_seconds=2,
    )
    async with open_session(replace(settings, **changes), NobodyThere()) as session:
        driver = Driver(session)
        arriving = session.hub.subscribe()

        async def collect() -> None:
            async for event in arriving:
                driver.events.append(event)

        collecting = asyncio.create_task(collect())
        try:
            yield driver
        finally:
            session.hub.close()
            await collecting


async def work(server: ModelServer, workspace: Path, prompt: str = PROMPT, **changes: Any) -> Run:
    """Run one prompt against a server; nothing in its requests may have been objectionable."""
    async with driving(server.url, workspace, **changes) as driver:
        run = await driver.run(prompt)
    assert server.complaints == []
    return run


async def play(workspace: Path, *steps: Step, **changes: Any) -> tuple[Run, list[Json]]:
    """Run one prompt against steps; the run and the bodies of the chat requests."""
    async with ModelServer(*steps) as server:
        run = await work(server, workspace, **changes)
    return run, server.bodies


def last_result(body: Json) -> str:
    """The last tool result in a request."""
    return next(str(m["content"]) for m in reversed(body["messages"]) if m["role"] == "tool")


def last_user(body: Json) -> str:
    """The last user message in a request."""
    return next(str(m["content"]) for m in reversed(body["messages"]) if m["role"] == "user")
