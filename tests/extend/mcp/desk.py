"""MCP servers of a session in tests: over real processes, with or without a sandbox."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pool.config.mcp import McpServer, McpSettings
from pool.events import Body, Notice
from pool.extend.mcp.launching import launch_for
from pool.extend.mcp.logins import Logins
from pool.extend.mcp.servers import McpServers
from pool.extend.mcp.tools import tools_of
from pool_tools import Tool, ToolResult
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

HOSTILE = Path(__file__).with_name("hostile.py")


def hostile(how: str, **more: Any) -> McpServer:
    return McpServer(how, command=sys.executable, args=("-I", "-S", str(HOSTILE), how), **more)


def real(name: str, *args: str, **more: Any) -> McpServer:
    return McpServer(name, command=sys.executable, args=("-m", f"mcp_server_{name}", *args), **more)


class Desk:
    def __init__(self, servers: McpServers, told: list[Body]) -> None:
        self.servers, self._told = servers, told
        self.listed = servers.choose_listed(0)
        self.tools: Mapping[str, Tool] = {t.spec.name: t for t in tools_of(servers, self.listed)}

    async def find(self, query: str = "") -> str:
        return (await self.tools["find_tool"].run({"query": query}, lambda _: None)).text

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        return await self.tools["call_tool"].run({"name": name, "arguments": arguments}, lambda _: None)

    @property
    def warnings(self) -> list[str]:
        return [body.text for body in self._told if isinstance(body, Notice)]


@asynccontextmanager
async def opened(
    folder: Path,
    *servers: McpServer,
    sandboxed: bool = False,
    state: Path | None = None,
    logins: Logins | None = None,
    **settings: Any,
) -> AsyncGenerator[Desk]:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    sandbox = probe(Policy((work,))).sandbox if sandboxed else NoSandbox()
    workspace = Workspace(work)
    toolbox = Toolbox(workspace, sandbox)
    starts = partial(launch_for, commands=toolbox.commands, environ=os.environ, unconfined=not sandboxed)
    told: list[Body] = []
    given = McpSettings(servers, **settings)
    made = McpServers(given, toolbox.commands, starts, state or folder / "state", told.append, logins)
    try:
        yield Desk(made, told)
    finally:
        await made.close()
        await toolbox.close()
        sandbox.close()
        workspace.close()
