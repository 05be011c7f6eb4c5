"""Servers for the doctor's tests: the simulator with its faults, and scripted ones that say what a test wants."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pool.config.settings import ServerEnvironment
from pool.lab.doctor.examine import SERVER_CHECKS, chosen, examine
from pool.lab.doctor.finding import Finding
from pool.lab.doctor.subject import Subject
from pool.sim.process import running
from pool.sim.settings import SimSettings
from pool.wire.endpoint import parse_endpoint
from pool.wire.transport import Transport
from tests.wire.scripted import Exchange, ScriptedServer

Json = dict[str, Any]
WINDOW_TOKENS = 65_536
LLAMACPP_PROPS = {"default_generation_settings": {"n_ctx": WINDOW_TOKENS}, "build_info": "b11549", "total_slots": 1}


@dataclass(frozen=True, slots=True)
class Said:
    """What a scripted model says. counted: tokens of the prompt, None for no usage at all. status: HTTP status."""

    content: str = ""
    reasoning: str = ""
    reasoning_field: str = "reasoning"
    calls: Sequence[Mapping[str, Any]] = ()
    finish: str = "stop"
    counted: int | None = 20
    cached: int | None = None
    done: bool = True
    status: int = 200
    error: str = ""

    def chunks(self) -> list[Json]:
        """The chunks of a stream."""
        delta: Json = {"role": "assistant", "content": self.content}
        delta |= {self.reasoning_field: self.reasoning} if self.reasoning else {}
        delta |= {"tool_calls": [{"index": i, **call} for i, call in enumerate(self.calls)]} if self.calls else {}
        chunks: list[Json] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]})
        if self.counted is not None:
            usage: Json = {"prompt_tokens": self.counted, "completion_tokens": 5, "total_tokens": self.counted + 5}
            usage |= {"prompt_tokens_details": {"cached_tokens": self.cached}} if self.cached is not None else {}
            chunks.append({"choices": [], "usage": usage})
        return chunks


Speak = Callable[[Json], Said]


@dataclass
class Script:
    """A server: its documents by path, and what it says to a chat request."""

    say: Speak = field(default=lambda body: Said("Ready."))
    documents: Mapping[str, Any] = field(default_factory=lambda: {"/v1/models": models("m")})
    metrics: list[str] = field(default_factory=list[str])

    async def handle(self, exchange: Exchange) -> None:
        """Answer a request."""
        if exchange.path == "/metrics" and self.metrics:
            text = self.metrics.pop(0) if len(self.metrics) > 1 else self.metrics[0]
            await exchange.reply(200, text, {"Content-Type": "text/plain"})
        elif exchange.path in self.documents:
            await exchange.reply_json(self.documents[exchange.path])
        elif exchange.path == "/v1/chat/completions":
            await self._chat(exchange)
        else:
            await exchange.reply_json({"detail": "Not Found"}, 404)

    async def _chat(self, exchange: Exchange) -> None:
        body = json.loads(exchange.body)
        said = self.say(body)
        if said.status != 200:
            await exchange.reply_json({"error": {"message": said.error, "code": said.status}}, said.status)
            return
        if not body["stream"]:
            chunk, *rest = said.chunks()
            choice = {"message": chunk["choices"][0]["delta"], "finish_reason": said.finish}
            usage = next((c["usage"] for c in rest if "usage" in c), None)
            await exchange.reply_json({"choices": [choice], "usage": usage})
            return
        await exchange.start()
        for chunk in said.chunks():
            await exchange.chunk(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        if said.done:
            await exchange.chunk(b"data: [DONE]\n\n")
        await exchange.finish()


def models(*names: str, **fields: Any) -> Json:
    """A model list; fields are those of every entry."""
    return {"object": "list", "data": [{"id": name, "object": "model", **fields} for name in names]}


def vllm(*names: str, version: str = "0.25.1", window: int | None = WINDOW_TOKENS) -> dict[str, Any]:
    """The documents of a vLLM server."""
    fields = {"max_model_len": window} if window else {}
    return {"/v1/models": models(*(names or ("laguna",)), owned_by="vllm", **fields), "/version": {"version": version}}


def llamacpp(*names: str) -> dict[str, Any]:
    """The documents of a llama.cpp server."""
    return {"/v1/models": models(*(names or ("laguna",)), owned_by="llamacpp"), "/props": LLAMACPP_PROPS}


def ollama(name: str) -> dict[str, Any]:
    """The documents of an Ollama server that has loaded nothing."""
    running: list[Json] = []
    return {
        "/v1/models": models(name, owned_by="library"),
        "/api/version": {"version": "0.32.1"},
        "/api/ps": {"models": running},
    }


@asynccontextmanager
async def subject_at(url: str, environment: ServerEnvironment | None = None, **given: Any) -> AsyncGenerator[Subject]:
    """A subject for a URL."""
    async with Transport(parse_endpoint(url)) as transport:
        yield Subject(transport, environment or ServerEnvironment(base_url=url), **given)


async def made(subject: Subject, *names: str) -> dict[str, Finding]:
    """Make the checks of these names (all of the server for none) and give what they found by name."""
    steps = [step async for step in examine(subject, chosen(names) if names else SERVER_CHECKS)]
    return {step.check.name: step.finding for step in steps if step.finding is not None}


async def of_sim(*names: str, **settings: Any) -> dict[str, Finding]:
    """The findings about a simulated server."""
    with running(SimSettings(**settings)) as sim:
        async with subject_at(sim.url) as subject:
            return await made(subject, *names)


async def of_script(script: Script, *names: str, environment: ServerEnvironment | None = None) -> dict[str, Finding]:
    """The findings about a scripted server."""
    async with ScriptedServer(script.handle) as server, subject_at(server.url, environment) as subject:
        return await made(subject, *names)


async def native_ollama(exchange: Exchange) -> None:
    """Ollama's own API: a model that calls, thinks when told to, and reads all that is sent back."""
    if exchange.path == "/api/tags":
        await exchange.reply_json({"models": [{"name": "laguna:latest"}]})
    elif exchange.path == "/api/version":
        await exchange.reply_json({"version": "0.33.0"})
    elif exchange.path == "/api/ps":
        await exchange.reply_json({"models": []})
    elif exchange.path == "/api/chat":
        await _native_chat(exchange, json.loads(exchange.body))
    else:
        await exchange.reply(404, "404 page not found", {"Content-Type": "text/plain"})


async def _native_chat(exchange: Exchange, body: Json) -> None:
    if body["model"] != "laguna:latest":
        await exchange.reply_json({"error": f'model "{body["model"]}" not found, try pulling it first'}, 404)
        return
    message: Json = {"role": "assistant", "content": "Ready."}
    if body.get("think"):
        message["thinking"] = "Let me see."
    if "tools" in body:
        named = [path for path in ("alpha.txt", "beta.txt") if path in body["messages"][-1]["content"]]
        calls = [{"function": {"name": "read_file", "arguments": {"path": path}}} for path in named or ["alpha.txt"]]
        message = message | {"content": "", "tool_calls": calls}
    last = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    tokens = len(exchange.body) // 4
    counts = {"prompt_eval_count": tokens, "eval_count": 9, "prompt_eval_cached_count": tokens - 1}
    if body["stream"]:
        lines = [{"message": message, "done": False}, last | counts]
        body_bytes = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        await exchange.reply(200, body_bytes, {"Content-Type": "application/x-ndjson"})
    else:
        await exchange.reply_json(last | counts | {"message": message})
