"""Whether a server answers, by one small GET."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

ANSWER_SECONDS = 5.0
READY = 200
NOBODY = 0


async def status_of(url: str, limit_seconds: float = ANSWER_SECONDS) -> int:
    """The HTTP status of a GET, `NOBODY` if nothing answers in time. For http only: the server is on this machine."""
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    path = parts.path or "/"
    try:
        async with asyncio.timeout(limit_seconds):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
                words = (await reader.readline()).split()
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except (OSError, ValueError, TimeoutError):
        return NOBODY
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else NOBODY


async def taken(host: str, port: int) -> bool:
    """Whether something listens there."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
