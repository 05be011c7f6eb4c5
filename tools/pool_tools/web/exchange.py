"""One GET over an open connection, by h11: bounded in size, decoded as it comes."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import h11

from pool_tools.network.dial import Route
from pool_tools.network.head import HEAD_BYTES
from pool_tools.web.address import PageAddress

CHUNK_BYTES = 64 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


class BadAnswer(Exception):
    """What a server sent is no answer that can be read. The message says what is wrong."""


@asynccontextmanager
async def asking(
    route: Route, address: PageAddress, fields: Mapping[str, str], tls: ssl.SSLContext | None
) -> AsyncGenerator[Answer]:
    """Ask for a page over a route, which is closed afterwards; the head of the answer has come.

    tls is for an address with https. Raises `BadAnswer`, OSError.
    """
    try:
        if address.tls:
            await route.writer.start_tls(tls or ssl.create_default_context(), server_hostname=address.host)
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        headers = [("Host", address.authority), ("Connection", "close"), *fields.items()]
        if route.upstream is not None and route.upstream.authorization:
            name, _, value = route.upstream.authorization.decode("latin-1").strip().partition(": ")
            headers.append((name, value))
        # A proxy is told the whole address.
        target = str(address) if route.upstream is not None else address.target
        request = connection.send(h11.Request(method="GET", target=target, headers=headers))
        route.writer.write((request or b"") + (connection.send(h11.EndOfMessage()) or b""))
        await route.writer.drain()
        answer = Answer(route.reader, connection)
        await answer.begin()
        yield answer
    except h11.RemoteProtocolError as error:
        raise BadAnswer(f"what came is no HTTP: {error}") from None
    except h11.LocalProtocolError as error:
        raise BadAnswer(f"it cannot be asked so: {error}") from None
    finally:
        route.writer.close()
        with contextlib.suppress(OSError):
            await route.writer.wait_closed()


class Answer:
    """An answer whose head has come. fields have lower-case names."""

    def __init__(self, reader: asyncio.StreamReader, connection: h11.Connection) -> None:
        self._reader = reader
        self._connection = connection
        self.status = 0
        self.fields: Mapping[str, str] = {}

    async def begin(self) -> None:
        """Wait for the head."""
        while not isinstance(event := await self._event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise BadAnswer("it ended before it answered")
        self.status = event.status_code
        self.fields = {name.decode("ascii"): value.decode("latin-1").strip() for name, value in event.headers}

    async def body(self, most: int) -> tuple[bytes, bool]:
        """At most so many bytes of the body, unpacked, and whether there is more. Raises `BadAnswer`, OSError."""
        packing = self.fields.get("content-encoding", "identity").lower()
        if packing not in _PACKED and packing != "identity":
            raise BadAnswer(f"it is packed in a way ({packing}) that nobody asked for")
        unpack = zlib.decompressobj(_GZIP_OR_ZLIB) if packing in _PACKED else None
        out = bytearray()
        while isinstance(event := await self._event(), h11.Data):
            data = bytes(event.data)
            try:
                out += unpack.decompress(data, most + 1 - len(out)) if unpack else data
            except zlib.error as error:
                raise BadAnswer(f"it is packed wrongly: {error}") from None
            if len(out) > most:
                return bytes(out[:most]), True
        if unpack and not unpack.eof:
            raise BadAnswer("it is packed wrongly: its end is missing")
        return bytes(out), False

    async def _event(self) -> h11.Event:
        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                self._connection.receive_data(await self._reader.read(CHUNK_BYTES))
            elif isinstance(event, h11.Event):
                return event
            else:
                raise BadAnswer("it goes on in another protocol")
