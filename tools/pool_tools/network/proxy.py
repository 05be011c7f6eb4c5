"""The proxy in the agent, through which commands reach the hosts of an allow-list."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import struct
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pool_tools.network.connection import Ask, Judge, close, relay, serve
from pool_tools.network.dial import Dialer, Resolve, resolve
from pool_tools.network.grants import Grants
from pool_tools.network.head import HEAD_BYTES
from pool_tools.network.rules import AllowList, RuleError
from pool_tools.network.starter import FOR_GOOD, HANDED, PROXY_PORT, SOCKET_NAME
from pool_tools.network.traffic import Count, Flow
from pool_tools.private import make_private

CONNECTIONS_MOST = 256
"""At once, over all commands; more are closed when they come."""

COMMANDS_MOST = 64
"""How many can have handed over ports at once."""

FLOWS_KEPT = 1_000
HANDING_SECONDS = 5.0

_HANDLES_MOST = 250
_MESSAGE_BYTES = 64
_ANSWER_BYTES = 500
_PEER = struct.Struct("3i")


@asynccontextmanager
async def open_proxy(
    allow: AllowList, environ: Mapping[str, str], *, ask: Ask | None = None, resolver: Resolve = resolve
) -> AsyncGenerator[NetworkProxy]:
    """A proxy for allow, closed with all its connections.

    environ is the user's environment: where it names a proxy, allowed hosts are reached through that. ask is asked
    about hosts that are not on the list; without it they are refused.
    """
    folder = make_private("network")
    grants = Grants(allow)
    proxy = NetworkProxy(folder.path, grants, Judge(grants, ask), Dialer(environ, resolver))
    try:
        proxy.start()
        yield proxy
    finally:
        await proxy.end()
        folder.remove()


class NetworkProxy:
    """Serves the commands of one sandbox, to which it is shown as folder. Made by `open_proxy`.

    Each command hands over listening sockets of its own network namespace (`starter.py`), which are closed when it
    ends; where commands share a namespace, that is done once. A command could hand over others, and talk to them as it
    likes: nothing of what comes is trusted.
    """

    def __init__(self, folder: Path, grants: Grants, judge: Judge, dialer: Dialer) -> None:
        self.folder = folder
        self.grants = grants
        self._judge = judge
        self._dialer = dialer
        self._flows: deque[Flow] = deque(maxlen=FLOWS_KEPT)
        self._tasks = _Tasks()
        self._commands: dict[int, asyncio.Event] = {}
        self._connections = 0
        self._server_ports: set[int] = set()

    @property
    def allow(self) -> AllowList:
        """What commands may reach now."""
        return self.grants.allow

    def refused_port(self, allow: AllowList) -> str:
        """Why a list cannot be granted, since it names the model server's port; "" if it does not."""
        ports = self._server_ports.intersection(allow.loopback_ports)
        return _server_port(min(ports)) if ports else ""

    async def forbid(self, host: str, port: int) -> None:
        """Let nothing through to the model server. Raises `RuleError` if the list names its port on this machine."""
        if await self._dialer.forbid(host, port):
            self._server_ports.add(port)
            if port in self.allow.loopback_ports:
                raise RuleError(_server_port(port))

    async def take_flows(self) -> tuple[Flow, ...]:
        """What was asked of the proxy since the last time, by commands that have ended all of it; at most the latest
        `FLOWS_KEPT`."""
        watch = select.poll()
        for handle in self._commands:
            watch.register(handle, select.POLLIN)
        for handle, _ in watch.poll(0):
            await self._commands[handle].wait()
        flows = tuple(self._flows)
        self._flows.clear()
        return flows

    def start(self) -> None:
        """Take ports from commands, on the running loop, until `end`."""
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(str(self.folder / SOCKET_NAME))
            listener.listen(socket.SOMAXCONN)
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
        self._tasks.start(self._accept(listener), listener.close)

    async def end(self) -> None:
        """Close all that is open."""
        await self._tasks.end()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            command, _ = await loop.sock_accept(listener)
            self._tasks.start(self._attend(command), command.close)

    async def _attend(self, command: socket.socket) -> None:
        """Take a command's ports and serve them until it ends."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(HANDING_SECONDS):
                    how_long, ports = await _handed_over(command, stack)
                # One that serves for good waits for the end of the agent itself.
                handle = os.pidfd_open(os.getpid() if how_long == FOR_GOOD else _peer(command))
                stack.callback(os.close, handle)
            except (OSError, TimeoutError) as error:
                _answer(command, str(error).encode() or b"nothing was handed over")
                return
            if len(self._commands) >= COMMANDS_MOST:
                _answer(command, b"too many commands are running")
                return
            connections = _Tasks()
            ended = self._commands[handle] = asyncio.Event()
            stack.callback(ended.set)
            stack.callback(self._commands.pop, handle)
            stack.push_async_callback(connections.end)
            for port in ports:
                server = await self._server(port, connections)
                stack.callback(server.close)
            _answer(command, HANDED)
            command.close()
            await _readable(handle)

    async def _server(self, port: socket.socket, connections: _Tasks) -> asyncio.Server:
        number = port.getsockname()[1]

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.start(self.serve(number, reader, writer), writer.close)

        return await asyncio.start_server(connected, sock=port, limit=HEAD_BYTES)

    async def serve(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection that came to port, in the command's namespace, until its end."""
        self._connections += 1
        try:
            if self._connections > CONNECTIONS_MOST:
                return
            if port == PROXY_PORT:
                await serve(reader, writer, self._judge, self._dialer, self._flows.append)
            elif port in self.allow.loopback_ports and port not in self._server_ports:
                await self._loopback(port, reader, writer)
        finally:
            self._connections -= 1
            await close(writer)

    async def _loopback(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count = Count()
        try:
            far = await asyncio.open_connection("127.0.0.1", port)
            try:
                await relay((reader, writer), far, count)
            finally:
                await close(far[1])
        except OSError:
            return  # Nobody listens there: the command sees its connection closed.
        finally:
            self._flows.append(Flow("localhost", port, count.sent, count.received))


def _server_port(port: int) -> str:
    return f"localhost:{port} is the model server, which commands never reach"


class _Tasks:
    """Tasks that end together. What one fails with ends its own connection, and is logged by asyncio."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], close: Callable[[], None]) -> None:
        """close is called in any case, also if the work is cancelled before it begins."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: close())

    async def end(self) -> None:
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)


async def _handed_over(
    command: socket.socket, stack: contextlib.AsyncExitStack
) -> tuple[bytes, Sequence[socket.socket]]:
    """What a command says, and the listening sockets it hands over, closed by the stack. Raises `OSError`."""
    command.setblocking(False)
    await _readable(command.fileno())
    text, handles, _, _ = socket.recv_fds(command, _MESSAGE_BYTES, _HANDLES_MOST, socket.MSG_CMSG_CLOEXEC)
    for handle in handles:
        stack.callback(_close_quietly, handle)
    ports: list[socket.socket] = []
    for handle in handles:
        port = stack.enter_context(_copied(handle))
        listens = port.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        if not listens or port.family not in (socket.AF_INET, socket.AF_INET6):
            raise OSError("what was handed over does not listen")
        ports.append(port)
    return text, ports


def _copied(handle: int) -> socket.socket:
    """A socket whose closing can be left to asyncio. Raises `OSError` if handle is none."""
    copy = os.dup(handle)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _close_quietly(handle: int) -> None:
    with contextlib.suppress(OSError):
        os.close(handle)


def _peer(command: socket.socket) -> int:
    """The process at the other end: the starter, which becomes the command."""
    return _PEER.unpack(command.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[0]


def _answer(command: socket.socket, text: bytes) -> None:
    with contextlib.suppress(OSError):
        command.send(text[:_ANSWER_BYTES])


async def _readable(handle: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(handle, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(handle)
