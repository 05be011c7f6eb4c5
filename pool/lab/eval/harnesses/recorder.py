"""A recorder between another agent and the model server: what was asked and answered is counted alike for all of them.

It listens on this machine, passes every request on, with the user's key in place of the agent's, and keeps requests
and replies. Streams are passed on as they come; the server is asked for their usage where the agent does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import h11
import httpx

from pool_tools.frozen import frozen

READ_BYTES = 64 * 1024
MOST_BODY_BYTES = 64 * 1024 * 1024
"""Larger requests are refused; of a larger reply the rest is passed on and not kept."""

CONNECT_SECONDS = 10.0
REPLY_SECONDS = 1800.0
"""How long a server may be silent: reading a long prompt takes minutes."""

_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "te", "trailer", "upgrade"}
)
_NOT_SENT = _HOP | {"host", "authorization", "x-api-key", "accept-encoding", "expect"}

Json = dict[str, Any]


@frozen
class Exchange:
    """One request and its reply. request is its JSON, {} if it was none. Times are wall times in seconds."""

    path: str
    request: Json
    status: int
    reply: bytes
    begun: float
    first: float
    ended: float
    cut: bool = False


@dataclass(slots=True)
class Recording:
    """What went through. url is where the recorder listens; most is how many model requests it passes on, 0 for all.

    over is set when a request was refused because of that.
    """

    url: str = ""
    most: int = 0
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    over: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0


@asynccontextmanager
async def recording(server: str, key: str, most: int = 0) -> AsyncGenerator[Recording]:
    """A recorder before a server's address, which ends in /v1 or gets that. key is the user's, "" for none.

    Raises `OSError`.
    """
    limits = httpx.Timeout(REPLY_SECONDS, connect=CONNECT_SECONDS)
    kept = Recording(most=most)
    async with httpx.AsyncClient(timeout=limits, trust_env=False) as client:
        passing = _Passing(_with_v1(server), key, client, kept)
        listening = await asyncio.start_server(passing.serve, "127.0.0.1", 0)
        kept.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        try:
            yield kept
        finally:
            listening.close()
            await passing.close()


async def first_model(server: str, key: str) -> str:
    """The first model that a server lists, "" where it lists none or does not answer."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=CONNECT_SECONDS, trust_env=False) as client:
            reply = await client.get(f"{_with_v1(server)}/models", headers=headers)
            found: Any = reply.json()["data"][0]["id"]
    except (httpx.HTTPError, ValueError, KeyError, IndexError, TypeError):
        return ""
    return str(found)


def _with_v1(server: str) -> str:
    server = server.rstrip("/")
    return server if server.endswith("/v1") else f"{server}/v1"


class _Passing:
    def __init__(self, server: str, key: str, client: httpx.AsyncClient, kept: Recording) -> None:
        self._server, self._key, self._client, self._kept = server, key, client, kept
        self._tasks: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """End all connections."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._connection(_Peer(reader, writer))
        except (OSError, h11.ProtocolError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _connection(self, peer: _Peer) -> None:
        while (request := await peer.request()) is not None:
            head, body = request
            await self._pass(peer, head, body)
            if not peer.goes_on():
                return

    async def _pass(self, peer: _Peer, head: h11.Request, body: bytes | None) -> None:
        path = head.target.decode("ascii", "replace")
        if body is None:
            await peer.answer(413, {"error": {"message": "the request is too large for the recorder"}})
            return
        asked = _object(body)
        model_request = head.method == b"POST" and bool(asked)
        if model_request and self._kept.most and self._kept.begun >= self._kept.most:
            self._kept.over.set()
            await peer.answer(403, {"error": {"message": "the limit of this run's turns is reached", "code": "turns"}})
            return
        self._kept.begun += model_request
        body = _asking_for_usage(path, asked, body)
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in head.headers
            if name.decode("latin-1").lower() not in _NOT_SENT
        }
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        begun = time.time()
        url = self._server + path.removeprefix("/v1")
        try:
            request = self._client.build_request(head.method.decode("ascii"), url, headers=headers, content=body)
            reply = await self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            await peer.answer(502, {"error": {"message": f"the model server cannot be reached: {error}"}})
            return
        first, kept = 0.0, bytearray()
        whole = False
        try:
            await peer.begin(reply.status_code, reply.headers)
            async for piece in reply.aiter_bytes():
                first = first or time.time()
                kept += piece[: max(0, MOST_BODY_BYTES - len(kept))]
                await peer.piece(piece)
            await peer.end()
            whole = True
        finally:
            await reply.aclose()
            if model_request:
                now = time.time()
                one = Exchange(path, asked, reply.status_code, bytes(kept), begun, first or now, now, not whole)
                self._kept.exchanges.append(one)


class _Peer:
    """The agent's side of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.SERVER)

    async def request(self) -> tuple[h11.Request, bytes | None] | None:
        """The next request and its body, None for a body that is too large; None at the connection's end."""
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[])
                    await self._send(go_on)
                self._http.receive_data(await self._reader.read(READ_BYTES))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data if len(body) <= MOST_BODY_BYTES else b""
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return head, bytes(body) if len(body) <= MOST_BODY_BYTES else None
            else:
                return None

    def goes_on(self) -> bool:
        """Whether another request may follow."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def begin(self, status: int, headers: httpx.Headers) -> None:
        """Begin a reply."""
        kept = [(name, value) for name, value in headers.items() if name.lower() not in _HOP]
        await self._send(h11.Response(status_code=status, headers=[*kept, ("transfer-encoding", "chunked")]))

    async def piece(self, data: bytes) -> None:
        """Pass a part of the body on."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """End a reply."""
        await self._send(h11.EndOfMessage())

    async def answer(self, status: int, value: Json) -> None:
        """A reply of the recorder's own."""
        data = json.dumps(value).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(data)))]
        await self._send(h11.Response(status_code=status, headers=headers))
        await self._send(h11.Data(data=data))
        await self._send(h11.EndOfMessage())

    async def _send(self, event: Any) -> None:
        data = cast("bytes | None", self._http.send(event))  # pyright: ignore[reportUnknownMemberType] h11 says no type
        if data:
            self._writer.write(data)
            await self._writer.drain()


def _object(body: bytes) -> Json:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast(Json, value) if isinstance(value, dict) else {}


def _asking_for_usage(path: str, asked: Mapping[str, Any], body: bytes) -> bytes:
    """A streamed chat request asks for its usage too; every other one stays as it is."""
    if not path.endswith("/chat/completions") or asked.get("stream") is not True:
        return body
    options: Any = asked.get("stream_options")
    known = cast(Json, options) if isinstance(options, dict) else {}
    return json.dumps({**asked, "stream_options": {**known, "include_usage": True}}, ensure_ascii=False).encode()
