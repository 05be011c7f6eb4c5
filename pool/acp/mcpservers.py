"""MCP servers that the client hands over with a session."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pool.acp.params import rows, text
from pool.config.mcp import HTTP, SSE, STDIO, McpServer, McpSettings
from pool.extend.acp.errors import bad_params

Json = dict[str, Any]

_ODD = re.compile(r"[^A-Za-z0-9_-]+")


def servers_of(params: Json, *, confined: bool) -> list[McpServer]:
    """The servers of `mcpServers`. confined: their processes run in the sandbox. Raises `RpcError`."""
    return [_server(row, confined=confined) for row in rows(params, "mcpServers")]


def with_servers(given: McpSettings, more: Sequence[McpServer]) -> McpSettings:
    """Settings with the client's servers; one that is configured under the same name is the user's own, and stays."""
    known = {server.name for server in given.servers}
    return replace(given, servers=(*given.servers, *(server for server in more if server.name not in known)))


def _server(row: Json, *, confined: bool) -> McpServer:
    name = _ODD.sub("-", text(row, "name")).strip("-")
    if not name:
        raise bad_params("an MCP server has no name with letters or digits")
    match row.get("type", STDIO):
        case "stdio":
            args = row.get("args", [])
            if not isinstance(args, list) or not all(isinstance(one, str) for one in cast(list[object], args)):
                raise bad_params(f"`args` of the MCP server {name} has to be a list of texts")
            return McpServer(
                name,
                command=text(row, "command"),
                args=tuple(cast(list[str], args)),
                env=_pairs(row, "env"),
                sandbox=confined,
            )
        case "http" | "sse" as kind:
            transport = HTTP if kind == "http" else SSE
            return McpServer(name, url=text(row, "url"), headers=_pairs(row, "headers"), transport=transport)
        case other:
            raise bad_params(f"an MCP server of type {other!r} is not known; there are stdio, http and sse")


def _pairs(row: Json, name: str) -> tuple[tuple[str, str], ...]:
    """Names and values, of a list of objects as the protocol has it, or of a plain object."""
    value = row.get(name)
    if isinstance(value, Mapping):
        return tuple((str(k), str(v)) for k, v in cast(Mapping[object, object], value).items())
    return tuple((text(one, "name"), text(one, "value")) for one in rows(row, name))
