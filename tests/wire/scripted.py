"""A scripted HTTP server on a real socket: a test says, byte by byte if need be, what it does with each request."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

CLOSE_WATCH_SECONDS = 5.0


@dataclass
class Exchange:
    """One request and the means to answer it. nth counts the requests on this connection from 1."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    nth: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    keep: bool = True
    at: float = field(default_factory=time.monotonic)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, status: int, body: bytes | str = b"", headers: Mapping[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else body
        head = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        await self.send(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode("latin-1") + data)

    async def reply_json(self, value: Any, status: int = 200) -> None:
        await self.reply(status, json.dumps(value))

    async def start(self, headers: Mapping[str, str] | None = None) -> None:
        head = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        await self.send(f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode())

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def finish(self) -> None:
        await self.send(b"0\r\n\r\n")

    def drop(self) -> None:
        """Close the connection in order, without a further byte."""
        self.keep = False
        self.writer.close()

    def reset(self) -> None:
        """Send a reset."""
        self.keep = False
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def client_closed(self) -> float:
        """Seconds until the client closes its end; raises TimeoutError if it does not."""
        begun = time.monotonic()
        async with asyncio.timeout(CLOSE_WATCH_SECONDS):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
        return time.monotonic() - begun


Handler = Callable[[Exchange], Awaitable[None]]


class ScriptedServer:
    """Serves handler on a free port of host. `requests` holds every exchange so far, `failure` a script's own fault."""

    def __init__(self, handler: Handler, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._host = host
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Exchange] = []
        self.connections = 0
        self.failure: BaseException | None = None
        self.port = 0

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        # One round of the loop, in which the aborted connections are closed.
        await asyncio.sleep(0)
        if kind is None and self.failure is not None:
            raise self.failure

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection, nth = self.connections, 0
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                nth += 1
                exchange = await self._read(reader, writer, connection, nth)
                if exchange is None:
                    return
                self.requests.append(exchange)
                await self._handler(exchange)
                if not exchange.keep:
                    return
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            return
        except Exception as exc:
            self.failure = exc
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.close()
            if self._server is None or not self._server.is_serving():
                # What the client never read would keep the connection open for good.
                writer.transport.abort()

    @staticmethod
    async def _read(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int, nth: int
    ) -> Exchange | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *rest = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Exchange(method, path, headers, body, connection, nth, reader, writer)
