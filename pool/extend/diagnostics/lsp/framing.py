"""Messages of JSON-RPC as language servers frame them: a header with the length, an empty line, JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

MESSAGE_BYTES_MOST = 32 * 1024 * 1024
"""A longer message ends the connection."""

HEADER_LINES_MOST = 20

_LENGTH = b"content-length:"


class NoProtocol(Exception):
    """What arrives is no message of a language server."""


def encode(message: dict[str, Any]) -> bytes:
    """A message with its header."""
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_message(stream: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end of the stream. Raises `NoProtocol`."""
    length = -1
    for _ in range(HEADER_LINES_MOST):
        try:
            line = await stream.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise NoProtocol("a header line without end") from None
        if not line.strip():
            if length >= 0:
                break
            continue
        if line.lower().startswith(_LENGTH):
            text = line[len(_LENGTH) :].strip()
            length = int(text) if text.isdigit() and len(text) <= 10 else MESSAGE_BYTES_MOST + 1
    if length < 0:
        raise NoProtocol("lines that are no header")
    if length > MESSAGE_BYTES_MOST:
        raise NoProtocol(f"a message of more than {MESSAGE_BYTES_MOST:,} bytes")
    try:
        value: Any = json.loads(await stream.readexactly(length))
    except asyncio.IncompleteReadError:
        return None
    except (ValueError, RecursionError):
        raise NoProtocol("a message that is no JSON") from None
    if not isinstance(value, dict):
        raise NoProtocol("a message that is no object")
    return cast(dict[str, Any], value)
