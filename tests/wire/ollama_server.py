"""A scripted server that speaks Ollama's own API, and the lines that it sends."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.wire.scripted import Exchange, ScriptedServer

MODEL = "laguna-s:2.1"
WINDOW_TOKENS = 65_536
NDJSON = {"Content-Type": "application/x-ndjson"}

Json = dict[str, Any]
Step = Callable[[Exchange], Awaitable[None]]


def overflow(prompt: int, window: int) -> str:
    """llama.cpp's refusal, which Ollama passes on as text where it was told not to cut."""
    text = f"request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"
    error = {"code": 400, "message": text, "type": "exceed_context_size_error"}
    return json.dumps({"error": error | {"n_prompt_tokens": prompt, "n_ctx": window}})


# -- lines, as Go writes them: what is empty is left out


def line(done: str = "", **message: Any) -> bytes:
    """One line of a reply; done is the done_reason of the last one."""
    value: Json = {"model": MODEL, "created_at": "2026-08-21T18:48:22.1Z", "message": {"role": "assistant", **message}}
    value["message"].setdefault("content", "")
    value["done"] = bool(done)
    if done:
        value["done_reason"] = done
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def last(done: str = "stop", prompt: int = 900, written: int = 20, **message: Any) -> bytes:
    counts = {"total_duration": 5_000_000_000, "load_duration": 1_000_000, "prompt_eval_duration": 900_000_000}
    counts |= {"prompt_eval_count": prompt, "eval_count": written, "eval_duration": 3_000_000_000}
    value = json.loads(line(done, **message)) | {name: count for name, count in counts.items() if count}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def call(name: str, call_id: str = "", **arguments: Any) -> Json:
    function = {"index": 0, "name": name, "arguments": arguments}
    return {"id": call_id, "function": function} if call_id else {"function": function}


def says(*lines: bytes) -> Step:
    """A reply of these lines, each in a chunk of its own."""

    async def step(exchange: Exchange) -> None:
        await exchange.start(NDJSON)
        for data in lines:
            await exchange.chunk(data)
        await exchange.finish()

    return step


def refuses(status: int, text: str) -> Step:
    async def step(exchange: Exchange) -> None:
        await exchange.reply_json({"error": text}, status)

    return step


ANSWER = says(line(thinking="Done."), line(content="All "), line(content="well."), last())


class OllamaServer(ScriptedServer):
    """Plays steps to its chat requests, the last one again and again, and refuses what Go would not decode.

    `/api/ps` names the loaded model, and its window, once a chat request has come. `bodies` are the chat requests.
    """

    def __init__(self, *steps: Step, window: int = WINDOW_TOKENS) -> None:
        super().__init__(self._answer)
        self._steps = steps
        self._window = window
        self.bodies: list[Json] = []
        self.raw: list[bytes] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def paths(self) -> list[str]:
        return [f"{e.method} {e.path}" for e in self.requests]

    async def _answer(self, exchange: Exchange) -> None:
        loaded = [{"name": MODEL, "model": MODEL, "context_length": self._window}] if self.bodies else []
        match exchange.method, exchange.path:
            case "GET", "/api/tags":
                await exchange.reply_json({"models": [{"name": MODEL, "model": MODEL, "size": 1}]})
            case "GET", "/api/version":
                await exchange.reply_json({"version": "0.33.0"})
            case "GET", "/api/ps":
                await exchange.reply_json({"models": loaded})
            case "POST", "/api/chat":
                await self._chat(exchange)
            case _:
                await exchange.reply(404, "404 page not found", {"Content-Type": "text/plain"})

    async def _chat(self, exchange: Exchange) -> None:
        body = json.loads(exchange.body, object_pairs_hook=without_doubles)
        if problem := undecodable(body):
            await exchange.reply_json({"error": problem}, 400)
            return
        self.bodies.append(body)
        self.raw.append(exchange.body)
        await self._steps[min(len(self.bodies), len(self._steps)) - 1](exchange)


def without_doubles(pairs: list[tuple[str, Any]]) -> Json:
    """An object in which no field stands twice: which of them counts would be the decoder's choice."""
    fields = dict(pairs)
    assert len(fields) == len(pairs), [name for name, _ in pairs]
    return fields


def undecodable(body: Json) -> str:
    """What Go's decoder would refuse in a chat request, "" if nothing."""
    if not isinstance(body["think"], bool) or body["stream"] is not True:
        return "think and stream are booleans"
    if not all(isinstance(value, (int, float)) for value in body["options"].values()):
        return "options of these names are numbers"
    for message in body["messages"]:
        if not isinstance(message["content"], str):
            return "json: cannot unmarshal into Go struct field Message.messages.content of type string"
        for item in message.get("tool_calls", ()):
            if not isinstance(item["function"]["arguments"], dict):
                return "json: cannot unmarshal string into Go struct field ToolCallFunction.arguments"
    return ""
