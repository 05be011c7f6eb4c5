"""MCP servers as they are configured, and how they are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

from pool_tools.frozen import frozen

STDIO, HTTP, SSE = "stdio", "http", "sse"


@frozen
class McpServer:
    """One server: a command with its arguments that is spoken to by its standard streams, or a url.

    transport is stdio, http (streamable) or sse. env and headers may hold `${NAME}` for variables of the user's
    environment. sandbox: its process runs in the sandbox. start_seconds and call_seconds are 0 where the general ones
    hold.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    transport: str = STDIO
    sandbox: bool = True
    disabled: bool = False
    start_seconds: float = 0.0
    call_seconds: float = 0.0


@frozen
class McpSettings:
    """The servers, and their limits. share is the part of the window that tools listed in full may take.

    start_seconds: how long a server may take to start; call_seconds: how long one call may take.
    """

    servers: tuple[McpServer, ...] = ()
    share: float = 0.05
    start_seconds: float = 20.0
    call_seconds: float = 60.0

    @property
    def used(self) -> tuple[McpServer, ...]:
        """Those that are not disabled."""
        return tuple(server for server in self.servers if not server.disabled)


def servers_of(value: object) -> tuple[McpServer, ...]:
    """Servers from what `kinds.McpServers` reads."""
    return tuple(_server(name, one) for name, one in cast(Mapping[str, Mapping[str, Any]], value).items())


def _server(name: str, given: Mapping[str, Any]) -> McpServer:
    return McpServer(
        name,
        command=given.get("command", ""),
        args=tuple(given.get("args", ())),
        env=tuple(given.get("env", {}).items()),
        url=given.get("url", ""),
        headers=tuple(given.get("headers", {}).items()),
        transport=STDIO if "command" in given else given.get("transport", HTTP),
        sandbox=given.get("sandbox", True),
        disabled=given.get("disabled", False),
        start_seconds=given.get("start_seconds", 0.0),
        call_seconds=given.get("call_seconds", 0.0),
    )


def command_lines(value: object) -> tuple[str, ...]:
    """The command lines of the servers that are programs."""
    import shlex

    servers = cast(Mapping[str, Mapping[str, Any]], value).values()
    return tuple(shlex.join((one["command"], *one.get("args", ()))) for one in servers if "command" in one)


def for_checkout(value: object) -> tuple[object, str]:
    """What a checkout's servers may be, and what was taken from them: none runs outside the sandbox."""
    servers = cast(Mapping[str, Mapping[str, Any]], value)
    freed = [name for name, one in servers.items() if one.get("sandbox") is False]
    if not freed:
        return value, ""
    held = {name: {**one, "sandbox": True} if name in freed else one for name, one in servers.items()}
    return held, f"sandbox = false of {', '.join(freed)} counts only in files of your own; it runs in the sandbox"
