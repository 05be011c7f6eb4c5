"""One connection to the proxy: a request is read, judged, and its bytes are passed on and counted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Literal

from pool_tools.network.dial import Dialer, Route, Streams
from pool_tools.network.grants import Grants
from pool_tools.network.head import Refused, Request, parse
from pool_tools.network.rules import HostRule
from pool_tools.network.traffic import Count, Flow

HEAD_SECONDS = 30.0
"""A request's head must be here by then."""

COPY_BYTES = 64 * 1024

UNREAD_BYTES, UNREAD_SECONDS = 1024 * 1024, 1.0
"""How much of what comes after a refusal is read and dropped: closing with unread data resets the connection, and the
answer may be lost with it."""

_Way = Literal["sent", "received"]

Ask = Callable[[str, int], Awaitable[bool]]
"""Asks the person whether commands may reach a host that is not on the list, for the rest of the session."""


class Judge:
    """Decides which host may be reached: the list, then the person, who is asked once about each host and port."""

    def __init__(self, grants: Grants, ask: Ask | None = None) -> None:
        self._grants = grants
        self._ask = ask
        self._asked: dict[tuple[str, int], asyncio.Future[bool]] = {}

    async def rule(self, host: str, port: int) -> HostRule:
        """The rule that lets host through. Raises `Refused`."""
        rule = self._grants.allow.rule(host, port)
        if rule is None and self._ask is not None and await self._answer(host, port, self._ask):
            rule = self._grants.allow.rule(host, port) or HostRule(host, frozenset({port}))
        if rule is not None:
            return rule
        place = str(HostRule(host)) if port in (80, 443) else str(HostRule(host, frozenset({port})))
        if any(port not in r.ports and r.matches(host, min(r.ports)) for r in self._grants.allow.hosts):
            raise Refused(403, f"port {port} of {host} is not allowed; the user can allow it: --net {place}")
        raise Refused(403, f"{host} is not on the list of allowed hosts; the user can allow it: --net {place}")

    async def _answer(self, host: str, port: int, ask: Ask) -> bool:
        key = host, port
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(ask(host, port))
        said = await asyncio.shield(self._asked[key])
        if said and self._grants.allow.rule(host, port):
            # A yes that became a grant, which may end before the session does: then the person is asked again.
            self._asked.pop(key, None)
        return said


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    judge: Judge,
    dialer: Dialer,
    note: Callable[[Flow], None],
) -> None:
    """Serve one request and close; note gets what came of it, also if this is cancelled."""
    request, count, refusal = None, Count(), ""
    try:
        request = await _read(reader)
        if request is None:
            return
        rule = await judge.rule(request.host, request.port)
        route = await dialer.open(request.host, request.port, rule, tunnel=request.tunnel)
        await _carry(request, reader, writer, route, count)
    except Refused as refused:
        refusal = refused.reason
        await _refuse(reader, writer, refused)
    finally:
        if request or refusal:
            host, port = (request.host, request.port) if request else ("", 0)
            note(Flow(host, port, count.sent, count.received, refusal))
        await close(writer)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            return parse(await reader.readuntil(b"\r\n\r\n"))
    except TimeoutError:
        raise Refused(408, "the request did not come to its end") from None
    except asyncio.LimitOverrunError:
        raise Refused(431, "the request's head is too long") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refused: Refused) -> None:
    # Many programs show only the first line of an answer to CONNECT, so the reason is in it.
    reason = refused.reason.encode("ascii", "backslashreplace").replace(b"\r", b" ").replace(b"\n", b" ")
    title = HTTPStatus(refused.status).phrase.encode()
    body = b"Pool's sandbox refused this: " + reason + b"\n"
    head = b"HTTP/1.1 %d %s: %s\r\nContent-Type: text/plain\r\n" % (refused.status, title, reason)
    writer.write(head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
    left = UNREAD_BYTES
    with contextlib.suppress(OSError, TimeoutError):
        writer.write_eof()
        async with asyncio.timeout(UNREAD_SECONDS):
            while left > 0 and (data := await reader.read(COPY_BYTES)):
                left -= len(data)


async def _carry(
    request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, route: Route, count: Count
) -> None:
    """Pass bytes on until both sides are done.

    A plain connection carries one request, so that no second one goes unchecked.
    """
    try:
        if request.tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await relay((reader, writer), (route.reader, route.writer), count)
            return
        extra = route.upstream.authorization if route.upstream else b""
        route.writer.write(request.encode(absolute=route.upstream is not None, extra=extra))
        up = asyncio.ensure_future(_copy(reader, route.writer, count, "sent", request.length))
        try:
            await _copy(route.reader, writer, count, "received")
        finally:
            up.cancel()
            await asyncio.wait([up])
    finally:
        await close(route.writer)


async def relay(near: Streams, far: Streams, count: Count) -> None:
    """Pass bytes both ways until both ends are done. The command is near."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_one_way(near[0], far[1], count, "sent"))
        group.create_task(_one_way(far[0], near[1], count, "received"))


async def _one_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Count, what: _Way) -> None:
    await _copy(reader, writer, count, what)
    with contextlib.suppress(OSError, RuntimeError):
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Count, what: _Way, length: int | None = None
) -> None:
    """Pass on at most length bytes, else all until the end. A broken connection is an end."""
    left = length
    with contextlib.suppress(OSError):
        while left is None or left > 0:
            data = await reader.read(COPY_BYTES if left is None else min(COPY_BYTES, left))
            if not data:
                break
            setattr(count, what, getattr(count, what) + len(data))
            left = None if left is None else left - len(data)
            writer.write(data)
            await writer.drain()


async def close(writer: asyncio.StreamWriter) -> None:
    """Close, whatever state the connection is in."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
