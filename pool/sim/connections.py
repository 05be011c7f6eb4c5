"""Open connections, so that a fault can drop one."""

from __future__ import annotations

import asyncio
import socket
import struct

from uvicorn.protocols.http.h11_impl import H11Protocol

RESET_LINGER = struct.pack("ii", 1, 0)
"""`SO_LINGER` on with 0 seconds: closing sends a reset."""
DELIVERY_SECONDS = 0.05
"""What was written before a reset gets this long to arrive; a reset throws away what has not."""
CLOSE_POLL_SECONDS = 0.005


class Connections:
    """Transports by the client's address."""

    def __init__(self) -> None:
        self._transports: dict[tuple[str, int], asyncio.Transport] = {}

    def protocol(self) -> type[H11Protocol]:
        """uvicorn's protocol, noting its connections here."""
        transports = self._transports

        class NotingProtocol(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # uvicorn narrows it so too
                super().connection_made(transport)
                if self.client is not None:
                    transports[self.client] = transport

            def connection_lost(self, exc: Exception | None) -> None:
                if self.client is not None:
                    transports.pop(self.client, None)
                super().connection_lost(exc)

        return NotingProtocol

    def abort(self) -> None:
        """End all that are still open, unsent data and all: what a client never reads would keep one open for good."""
        for transport in self._transports.values():
            transport.abort()

    async def drop(self, client: tuple[str, int], *, reset: bool) -> None:
        """End a connection in the middle of a body, after what was written has been handed to the network."""
        transport = self._transports.get(client)
        if transport is None:
            return
        if reset:
            await asyncio.sleep(DELIVERY_SECONDS)
            plain: socket.socket = transport.get_extra_info("socket")
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_LINGER)
            transport.abort()
        else:
            transport.close()
        while client in self._transports:
            await asyncio.sleep(CLOSE_POLL_SECONDS)
