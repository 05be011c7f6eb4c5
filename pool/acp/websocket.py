"""Serving clients over WebSocket, on the loopback address only: a connection is a client, a text frame a message.

The protocol's remote transport is a proposal that lets a server choose between two ways
(https://agentclientprotocol.com/rfds/streamable-http-websocket-transport). The other one, answers over several streams
of events, needs HTTP/2. Whoever is let in runs commands as this user, so each connection has to bring a token.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable

from aiohttp import WSMsgType, web

from pool.acp.agent import AcpAgent, SettingsFor
from pool.acp.leaving import end_soon, leave
from pool.acp.stdio import LINE_LIMIT_BYTES
from pool.agent.ids import new_id
from pool.extend.acp.peer import Peer

LOOPBACK = "127.0.0.1"
PATH = "/acp"
TOKEN_VARIABLE = "POOL_ACP_TOKEN"
CONNECTION_HEADER = "Acp-Connection-Id"

_TOKEN_BYTES = 24
_HEARTBEAT_SECONDS = 30.0
"""A client that does not answer a ping within half of it has gone."""

_SHUTDOWN_SECONDS = 1.0

Told = Callable[[str], object]


def serve_port(listening: socket.socket, settings_for: SettingsFor, *, confined: bool = True) -> int:
    """Serve until a signal ends it; the exit code. The address and a new token go to stderr.

    confined is that of `AcpAgent`. With `POOL_ACP_TOKEN` in the environment that is the token, and none is written.
    """
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(_TOKEN_BYTES)
    sys.stderr.write(f"ws://{LOOPBACK}:{listening.getsockname()[1]}{PATH}\n")
    if not os.environ.get(TOKEN_VARIABLE):
        sys.stderr.write(f"header of each connection: Authorization: Bearer {token}\n")
    sys.stderr.flush()
    return asyncio.run(_serve(listening, Clients(token, settings_for, confined=confined)))


async def _serve(listening: socket.socket, clients: Clients) -> int:
    ended = asyncio.get_running_loop().create_future()

    def signalled(number: int) -> None:
        if not ended.done():
            ended.set_result(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, signalled, number)
    runner = web.AppRunner(clients.app(), access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        code = await ended
    finally:
        await clients.close()
        await runner.cleanup()
    end_soon(code)
    return code


class Clients:
    """All who are connected. token: what each has to bring."""

    def __init__(self, token: str, settings_for: SettingsFor, *, confined: bool = True) -> None:
        self._wanted = f"Bearer {token}".encode()
        self._settings_for = settings_for
        self._confined = confined
        self._sockets: set[web.WebSocketResponse] = set()

    def app(self) -> web.Application:
        """What is served: one path."""
        app = web.Application()
        app.router.add_get(PATH, self._connected)
        return app

    async def close(self) -> None:
        """Send all away; each connection then ends what it began."""
        for one in list(self._sockets):
            await one.close(code=1001)

    async def _connected(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._wanted):
            raise web.HTTPUnauthorized(text="the token is missing or wrong\n")
        client = web.WebSocketResponse(heartbeat=_HEARTBEAT_SECONDS, max_msg_size=LINE_LIMIT_BYTES, compress=False)
        if not client.can_prepare(request).ok:
            raise web.HTTPUpgradeRequired(text="this is for WebSocket connections\n", headers={"Upgrade": "websocket"})
        client.headers[CONNECTION_HEADER] = new_id()
        await client.prepare(request)
        self._sockets.add(client)
        try:
            await self._served(client)
        finally:
            self._sockets.discard(client)
        return client

    async def _served(self, client: web.WebSocketResponse) -> None:
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        peer = Peer(lines.put_nowait)
        agent = AcpAgent(peer, self._settings_for, confined=self._confined)
        writing = asyncio.create_task(_write(client, lines))
        try:
            async for message in client:
                if message.type is WSMsgType.TEXT:
                    peer.take(message.data.encode("utf-8", "replace"))
        finally:
            await leave(peer, agent)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)


async def _write(client: web.WebSocketResponse, lines: asyncio.Queue[bytes]) -> None:
    while True:
        line = await lines.get()
        try:
            await client.send_str(line.decode().rstrip("\n"))
        except ConnectionError:
            return
