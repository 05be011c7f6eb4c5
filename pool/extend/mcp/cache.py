"""Tools of a server as it listed them last, so that a session can list them before the server has started."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, cast

from pool.config.mcp import McpServer
from pool.config.writing import write_whole
from pool.extend.mcp.known import KnownTool, known_tools

VERSION = 1
BYTES_MOST = 2_000_000
"""A larger file is not read."""


class ToolCache:
    """One small file for each server, named after a hash of its configuration, in the user's state folder."""

    def __init__(self, state: Path) -> None:
        """state is Pool's state folder."""
        self._folder = state / "mcp"

    def read(self, server: McpServer) -> tuple[KnownTool, ...]:
        """The tools; none where nothing is known, or what is there cannot be used."""
        try:
            with self._path(server).open("rb") as file:
                body: Any = json.loads(file.read(BYTES_MOST))
            if body["version"] != VERSION:
                return ()
            rows = [(str(n), str(d), s, bool(r)) for n, d, s, r in cast(list[tuple[Any, Any, Any, Any]], body["tools"])]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return ()
        return known_tools(server.name, rows)

    def write(self, server: McpServer, tools: tuple[KnownTool, ...]) -> None:
        """Keep them. Raises OSError."""
        rows = [(t.original, t.description, t.parameters, t.reads) for t in tools]
        text = json.dumps({"version": VERSION, "tools": rows})
        if len(text) < BYTES_MOST:
            write_whole(self._path(server), text)

    def _path(self, server: McpServer) -> Path:
        told = [server.command, server.args, server.env, server.url, server.headers, server.transport]
        return self._folder / f"{hashlib.sha256(json.dumps([server.name, told]).encode()).hexdigest()[:32]}.json"
