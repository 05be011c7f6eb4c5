from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], "asyncio.Future[None]"]


@dataclass
class UserProxy:
    """A proxy as a company has one: everything is reached through it, by names that only it knows.

    All names lead to itself: it answers as the server that was asked for. heads are the heads that came, answered what
    came through tunnels.
    """

    port: int = 0
    login: bytes = b""
    heads: list[bytes] = field(default_factory=list[bytes])
    bodies: list[bytes] = field(default_factory=list[bytes])

    @property
    def environ(self) -> dict[str, str]:
        url = f"http://127.0.0.1:{self.port}"
        return {"HTTP_PROXY": url, "HTTPS_PROXY": url}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            if head.startswith(b"CONNECT nowhere."):
                writer.write(b"HTTP/1.1 504 Gateway Timeout\r\n\r\n")
            elif head.startswith(b"CONNECT"):
                writer.write(b"HTTP/1.1 200 OK\r\nVia: 1.1 x\r\n\r\n")
                self.bodies.append(await reader.read())
                writer.write(b"echo " + self.bodies[-1])
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
                await writer.drain()
                writer.write_eof()
                self.bodies.append(await reader.read())
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object],
) -> AsyncGenerator[int]:
    """Serve connections on a port of the loopback address, which is given."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)  # pyright: ignore[reportArgumentType]  # either kind
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.fixture
async def user_proxy() -> AsyncIterator[UserProxy]:
    made = UserProxy()
    async with listening(made.serve) as made.port:
        yield made


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """All descriptors that a test opens are closed at its end."""
    before = set(os.listdir("/proc/self/fd"))
    yield
    assert set(os.listdir("/proc/self/fd")) - before == set()
