"""All MCP servers of a session: started behind the first request, their tools found, called, and told of."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pool.config.mcp import McpServer, McpSettings
from pool.events import Body, Notice
from pool.extend.mcp.cache import ToolCache
from pool.extend.mcp.known import KnownTool, server_prefix
from pool.extend.mcp.logins import Logins
from pool.extend.mcp.server import RunningServer, Starts, State, Watcher
from pool.wire.coerce import coerce
from pool_tools import ToolError, ToolResult
from pool_tools.capture import OutputCapture
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.sandbox.base import Guard
from pool_tools.spill import Spills
from pool_tools.text import visible

BEGIN_AFTER_SECONDS = 0.5
"""How long after the first prompt the servers are started: its request is under way by then."""

FIND_WAIT_SECONDS = 10.0
"""How long looking for a tool waits for servers that are starting."""

ASSUMED_WINDOW_TOKENS = 32_768
"""The window that shares are taken of where none is known when a session begins."""


@frozen
class ServerStatus:
    """A server at a glance: listed are the names of its tools that stand in the prompt, tokens what they take there."""

    name: str
    state: State
    reason: str
    version: str
    tools: tuple[KnownTool, ...]
    listed: tuple[str, ...]
    tokens: float
    sandboxed: bool


class McpServers:
    """The servers. Nothing is started, and the SDK not imported, before `begin` or the first use."""

    def __init__(
        self,
        settings: McpSettings,
        commands: Commands,
        starts: Starts,
        state: Path,
        tell: Callable[[Body], object],
        logins: Logins | None = None,
    ) -> None:
        """commands say where processes work and where long results go; state is Pool's state folder; logins are those
        that a person has made.
        """
        self._settings = settings
        self._commands = commands
        self._tell = tell
        self._cache = ToolCache(state)
        self._spills = Spills(commands.scratch)
        self._listed: tuple[KnownTool, ...] = ()
        self._begun = False
        self._beginning: asyncio.Task[None] | None = None
        watcher = Watcher(self._failed, self._keep)
        self._servers = {
            one.name: RunningServer(one, settings, starts, commands.folder, watcher, logins) for one in settings.used
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The servers' names."""
        return tuple(self._servers)

    def choose_listed(self, window: int, keep: Collection[str] | None = None) -> tuple[KnownTool, ...]:
        """The tools to list in the prompt: of servers that are known from earlier, as long as they fit the share.

        window is in tokens, 0 where it is not known. keep: the names that an earlier prompt of the session has, which
        then are the ones. Called once; reads small files.
        """
        room = self._settings.share * (window or ASSUMED_WINDOW_TOKENS)
        chosen: list[KnownTool] = []
        for running in self._servers.values():
            tools = self._cache.read(running.server)
            running.tools = tools
            if keep is not None:
                chosen += [tool for tool in tools if tool.name in keep]
                continue
            tokens = sum(tool.tokens for tool in tools)
            if tokens <= room:
                chosen += tools
                room -= tokens
        self._listed = tuple(chosen)
        return self._listed

    def begin_soon(self) -> None:
        """Start all servers once the request that is being made is under way. Only the first call does anything."""
        if not self._begun and self._beginning is None:
            self._beginning = asyncio.create_task(self._begin_later())

    def begin(self) -> None:
        """Start all servers; nothing waits for them."""
        self._begun = True
        for running in self._servers.values():
            running.begin()

    async def settle(self, seconds: float = FIND_WAIT_SECONDS) -> None:
        """Start all servers, and wait so long for them."""
        self.begin()
        waiting = [asyncio.ensure_future(one.wait()) for one in self._servers.values() if not one.settled]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
            for one in waiting:
                one.cancel()

    def known(self) -> tuple[KnownTool, ...]:
        """All tools that are known just now and can be called, as far as that is known."""
        working = (running for running in self._servers.values() if running.state is not State.FAILED)
        return tuple(tool for running in working for tool in running.tools)

    def troubles(self) -> tuple[str, ...]:
        """A line for each server that cannot be asked just now."""
        return tuple(
            f"{visible(one.server.name)}: {one.state.value}{f', {one.reason}' if one.reason else ''}"
            for one in self._servers.values()
            if one.state is not State.READY
        )

    def tool(self, name: str) -> KnownTool:
        """A tool by its name. Raises `ToolError` where there is none."""
        for tool in (*self.known(), *self._listed):
            if tool.name == name:
                return tool
        raise ToolError(f"There is no MCP tool {name!r}. find_tool says which there are.")

    def may_come(self, name: str) -> bool:
        """Whether a tool of that name may yet be known: its server is not settled."""
        return any(
            name.startswith(server_prefix(server)) and not running.settled for server, running in self._servers.items()
        )

    def place(self, name: str) -> str:
        """Where the server of a tool runs, for who approves a call of it; name is the tool's."""
        for server, running in self._servers.items():
            if name.startswith(server_prefix(server)):
                return _place(running.server, self._commands.sandbox.describe())
        return ""

    def arguments(self, tool: KnownTool, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments in the form that the tool wants. Raises `ToolError` for what is wrong."""
        coerced = coerce(dict(given), tool.parameters)
        if coerced.problems:
            raise ToolError(f"{tool.name} was not run: {' '.join(coerced.problems)}")
        return coerced.arguments

    async def call(self, name: str, given: Mapping[str, Any]) -> ToolResult:
        """Call a tool. Raises `ToolError`."""
        if self.may_come(name):
            server = next(one for one in self._servers.values() if name.startswith(server_prefix(one.server.name)))
            server.begin()
            await server.wait()
        tool = self.tool(name)
        arguments = self.arguments(tool, given)
        running = self._servers[tool.server]
        guard = self._commands.sandbox.guard if running.server.command and running.server.sandbox else None
        ok, text, restored = await _guarded(guard, partial(running.call, tool.original, arguments))
        return ToolResult(ok, await asyncio.to_thread(self._shown, text, restored), {"server": tool.server})

    def status(self) -> tuple[ServerStatus, ...]:
        """All servers at a glance."""
        return tuple(self._status(one) for one in self._servers.values())

    async def close(self) -> None:
        """End all servers; no process is left."""
        if self._beginning is not None:
            self._beginning.cancel()
            await asyncio.gather(self._beginning, return_exceptions=True)
        await asyncio.gather(*(one.close() for one in self._servers.values()))

    async def _begin_later(self) -> None:
        await asyncio.sleep(BEGIN_AFTER_SECONDS)
        self.begin()

    def _status(self, one: RunningServer) -> ServerStatus:
        listed = [tool for tool in self._listed if tool.server == one.server.name]
        return ServerStatus(
            one.server.name,
            one.state,
            one.reason,
            one.version,
            one.tools,
            tuple(tool.name for tool in listed),
            sum(tool.tokens for tool in listed),
            bool(one.server.command) and one.server.sandbox,
        )

    def _shown(self, text: str, restored: tuple[str, ...]) -> str:
        capture = OutputCapture(self._spills)
        capture.feed("\n".join([text, *(f"[{line}]" for line in restored)]).encode("utf-8", "replace"))
        capture.close()
        return capture.text().strip() or "(nothing)"

    def _failed(self, server: McpServer, reason: str) -> None:
        remedy = f"`pool mcp test {server.name}` shows more"
        self._tell(Notice("warning", visible(f"the MCP server {server.name} does not work: {reason}"), visible(remedy)))

    async def _keep(self, server: McpServer, tools: tuple[KnownTool, ...]) -> None:
        # It only makes the next session's prompt better, so a state folder that cannot be written is no fault here.
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self._cache.write, server, tools)


def _place(server: McpServer, sandbox: str) -> str:
    if server.url:
        parts = urlsplit(server.url)
        return f"The server is at {parts.scheme}://{parts.hostname}; the arguments are sent there."
    if not server.sandbox:
        return "The server runs outside the sandbox, with your own rights."
    return f"The server runs as commands do: {sandbox}."


async def _guarded(guard: Guard | None, call: Callable[[], Any]) -> tuple[bool, str, tuple[str, ...]]:
    """A call between two looks at the files that a sandbox protects by putting them back."""
    if guard is None:
        ok, text = await call()
        return ok, text, ()
    await asyncio.to_thread(guard.before)
    try:
        ok, text = await call()
    finally:
        restored = await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(guard.after)))
    return ok, text, restored
