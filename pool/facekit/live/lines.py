"""The protocol of a live run's socket: one JSON object a line, in both directions, version 1.

A face sends `status` (`v`) or `attach` first: `v`, `after` (the last number of an event that it has, -1 for none), and
`stay` (whether the process is to wait for more prompts while the face is there). It gets `status`; if it attached, then
every durable event above `after`, `current`, and all that happens from then on, as `pool run -o stream-json` prints it.
From then on it sends what `pool run -i stream-json` takes, and `detach`; what is refused comes back as `refused` with
its `text`. `command` (`id`, `line`) does a slash command, answered by `result` with that id. `ended` (`exit_code`) is
the last line before the process goes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pool.facekit.live.peers import is_own
from pool.facekit.live.place import short_name
from pool.jsonable import plain

PROTOCOL_VERSION = 1
LINE_LIMIT_BYTES = 64 * 1024 * 1024
"""The longest line that is taken; a call's preview or result may be long."""


class LinkProblem(Exception):
    """The other end cannot be spoken to. The message says why."""


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as a line."""
    return json.dumps(plain(row), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def row_of(line: bytes) -> dict[str, Any]:
    """A line as a row. Raises `LinkProblem`."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LinkProblem(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise LinkProblem("not a JSON object")
    return cast(dict[str, Any], value)


async def read_line(reader: asyncio.StreamReader) -> bytes:
    """The next line without its end, b"" at the end of the stream. Raises `LinkProblem` for one that is too long."""
    try:
        line = await reader.readline()
    except ValueError:
        raise LinkProblem(f"a line of more than {LINE_LIMIT_BYTES:,} bytes") from None
    except ConnectionError:
        return b""
    return line.rstrip(b"\n") if line.endswith(b"\n") else b""


async def connect(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a live run of this user. Raises `LinkProblem`."""
    try:
        with short_name(path) as name:
            reader, writer = await asyncio.open_unix_connection(name, limit=LINE_LIMIT_BYTES)
    except OSError as error:
        raise LinkProblem(f"the run cannot be reached: {error.strerror or error} ({path})") from None
    if not is_own(writer):
        writer.close()
        raise LinkProblem(f"{path} is not a run of yours")
    return reader, writer
