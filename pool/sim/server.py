"""The HTTP side: vLLM's endpoints as a Starlette application."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pool.sim.chat import Chat, Prepared
from pool.sim.chunks import DONE, Chunk, compact, encode, stream, whole
from pool.sim.connections import Connections
from pool.sim.errors import ApiError, missing_field
from pool.sim.faults import Faults, FaultUse
from pool.sim.faults_wire import Dropped
from pool.sim.metrics import Metrics
from pool.sim.request import read_json
from pool.sim.settings import SimSettings
from pool.sim.template import Rendering, render
from pool.sim.tokens import decode, ids
from pool.sim.tokens import encode as tokens_of

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class SimServer:
    """The endpoints and what they share. seen holds the body of each chat request, for tests."""

    def __init__(self, settings: SimSettings, faults: tuple[FaultUse, ...], connections: Connections) -> None:
        self._settings = settings
        self._faults = faults
        self.connections = connections
        self._metrics = Metrics(settings.model, settings.steps.drafts)
        self._chat = Chat(settings, self._metrics)
        self._created = int(time.time())
        self._count = 0
        self.seen: list[dict[str, Any]] = []

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._completions, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/tokenize", self._tokenize, methods=["POST"]),
                Route("/detokenize", self._detokenize, methods=["POST"]),
                Route("/version", self._version),
                Route("/health", self._health),
                Route("/ping", self._health),
                Route("/load", self._load),
                Route("/metrics", self._metrics_text),
                *([Route("/server_info", self._server_info)] if self._settings.capture_sizes else []),
            ],
            exception_handlers={ApiError: _refuse, HTTPException: _no_route},
        )

    async def _completions(self, http: Request) -> Response:
        self._count += 1
        number = self._count
        faults = Faults(self._faults, number)
        if (instead := faults.instead()) is not None:
            await http.body()
            return Response(instead.body, instead.status, instead.headers, instead.content_type)
        if not self._may(http):
            return _unauthorized()
        body = read_json(await http.body())
        self.seen.append(body)
        prepared = self._chat.prepare(body, number, faults)
        if prepared.request.stream:
            source = faults.raw(_events(faults.chunks(_chunks(prepared))))
            return EventStream(source, self.connections)
        if prepared.refusal is not None:
            raise prepared.refusal
        return await _unless_gone(http, prepared)

    async def _models(self, http: Request) -> Response:
        if not self._may(http):
            return _unauthorized()
        permission = {
            "id": f"modelperm-{secrets.token_hex(8)}",
            "object": "model_permission",
            "created": self._created,
            "allow_create_engine": False,
            "allow_sampling": True,
            "allow_logprobs": True,
            "allow_search_indices": False,
            "allow_view": True,
            "allow_fine_tuning": False,
            "organization": "*",
            "group": None,
            "is_blocking": False,
        }
        model = {
            "id": self._settings.model,
            "object": "model",
            "created": self._created,
            "owned_by": "vllm",
            "root": self._settings.model,
            "parent": None,
            "max_model_len": self._settings.max_model_len,
            "permission": [permission],
        }
        return _json({"object": "list", "data": [model]})

    async def _tokenize(self, http: Request) -> Response:
        body = read_json(await http.body())
        if "prompt" in body:
            text = str(body["prompt"])
        elif "messages" in body:
            text = self._render(body)
        else:
            raise missing_field("messages", body)
        pieces = tokens_of(text)
        strings = pieces if body.get("return_token_strs") else None
        window = self._settings.max_model_len
        return _json({"count": len(pieces), "max_model_len": window, "tokens": ids(pieces), "token_strs": strings})

    def _render(self, body: dict[str, Any]) -> str:
        """The prompt of a tokenize request. `reasoning_content` is dropped here, unlike in a chat: so does vLLM."""
        messages = [{k: v for k, v in message.items() if k != "reasoning_content"} for message in body["messages"]]
        kwargs: dict[str, Any] = body.get("chat_template_kwargs") or {}
        how = Rendering(
            thinks=bool(kwargs.get("enable_thinking", self._settings.template_thinks)),
            preserve=bool(kwargs.get("preserve_thinking", False)),
            generate=bool(body.get("add_generation_prompt", True)),
            continue_final=bool(body.get("continue_final_message", False)),
        )
        return render(messages, body.get("tools") or [], how)

    async def _detokenize(self, http: Request) -> Response:
        body = read_json(await http.body())
        if "tokens" not in body:
            raise missing_field("tokens", body)
        return _json({"prompt": decode(int(number) for number in body["tokens"])})

    async def _version(self, http: Request) -> Response:
        return _json({"version": self._settings.version})

    async def _health(self, http: Request) -> Response:
        return Response()

    async def _load(self, http: Request) -> Response:
        return _json({"server_load": 0})

    async def _server_info(self, http: Request) -> Response:
        """A part of what vLLM tells in its development mode (`VLLM_SERVER_DEV_MODE=1`, `config_format=json`)."""
        sizes, drafts = self._settings.capture_sizes, self._settings.steps.drafts
        config = {
            "compilation_config": {
                "cudagraph_capture_sizes": list(sizes),
                "max_cudagraph_capture_size": max(sizes),
            },
            "scheduler_config": {"max_num_seqs": self._settings.max_num_seqs},
            "speculative_config": {"num_speculative_tokens": drafts} if drafts else None,
        }
        return _json({"vllm_config": config})

    async def _metrics_text(self, http: Request) -> Response:
        return Response(self._metrics.render(), media_type=METRICS_TYPE)

    def _may(self, http: Request) -> bool:
        """Whether the request has the key. vLLM asks for it below /v1 only."""
        key = self._settings.api_key
        return not key or http.headers.get("authorization") == f"Bearer {key}"


class EventStream(Response):
    """A stream of events. When the client goes away its source is closed, which aborts the reply."""

    media_type = "text/event-stream"

    def __init__(self, source: AsyncGenerator[bytes], connections: Connections) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._source = source
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events, or drop the connection where a fault says so."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            writing.cancel()
            results = await asyncio.gather(writing, leaving, return_exceptions=True)
        match results[0]:
            case Dropped(reset=reset):
                await self._connections.drop(scope["client"], reset=reset)
            case Exception() as error:
                raise error
            case _:
                pass

    async def _write(self, send: Send) -> None:
        async with aclosing(self._source) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _chunks(prepared: Prepared) -> AsyncGenerator[Chunk]:
    if prepared.refusal is not None:
        await prepared.steps.aclose()
        yield prepared.refusal.body()
        return
    async with aclosing(stream(prepared.answer, prepared.steps)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _events(chunks: AsyncGenerator[Chunk]) -> AsyncGenerator[bytes]:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield encode(chunk)
    yield DONE


async def _unless_gone(http: Request, prepared: Prepared) -> Response:
    """The whole body, given up when the client goes away."""
    writing = asyncio.create_task(whole(prepared.answer, prepared.steps))
    leaving = asyncio.create_task(_gone(http.receive))
    try:
        await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not writing.done():
            raise ClientDisconnect
        return _json(writing.result())
    finally:
        leaving.cancel()
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _json(value: object, status: int = 200) -> Response:
    return Response(compact(value), status, media_type="application/json")


def _unauthorized() -> Response:
    """vLLM's answer without the key: here `error` is a text (recording E17)."""
    return _json({"error": "Unauthorized"}, 401)


async def _refuse(http: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _json(error.body(), error.status)


async def _no_route(http: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"detail": error.detail}, error.status_code)
