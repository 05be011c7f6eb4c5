"""`pool mcp test`: start one server as a session would, say what came of it, and remember its tools."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from contextlib import AsyncExitStack
from functools import partial

from pool.agent.configured import settings_for
from pool.agent.confinement import confine
from pool.cli.mcp.files import named
from pool.config.files import Places
from pool.config.load import flag_values
from pool.config.mcp import McpServer
from pool.config.settings import SandboxChoice, Settings
from pool.extend.mcp.cache import ToolCache
from pool.extend.mcp.known import KnownTool
from pool.extend.mcp.launching import launch_for
from pool.extend.mcp.logins import usual_logins
from pool.extend.mcp.server import RunningServer, State, Watcher
from pool.headless.configured import folder_of
from pool.headless.plain import safe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

EXIT_DOES_NOT_WORK = 1
_LINE_CHARS = 60


def try_server(folder: str, name: str, sandbox: str | None, net: str | None) -> int:
    """Returns the exit code. Raises `SettingsError`, OSError."""
    flags = flag_values({"sandbox.use": sandbox, "sandbox.network": net})
    loaded = settings_for(folder_of(folder), os.environ, flags, with_key=False)
    return asyncio.run(_try(loaded.settings, named(loaded, name)))


async def _try(settings: Settings, server: McpServer) -> int:
    async with AsyncExitStack() as stack:
        confinement = await confine(settings, stack)
        workspace = Workspace(settings.workspace)
        stack.callback(workspace.close)
        toolbox = Toolbox(workspace, confinement.found.sandbox, None, confinement.network)
        stack.push_async_callback(toolbox.close)
        unconfined = settings.sandbox in (SandboxChoice.OFF, SandboxChoice.EXTERNAL)
        starts = partial(launch_for, commands=toolbox.commands, environ=os.environ, unconfined=unconfined)
        watcher = Watcher(lambda server, reason: None, _remember)
        running = RunningServer(server, settings.mcp, starts, settings.workspace, watcher, usual_logins(os.environ))
        stack.push_async_callback(running.close)
        if server.command:
            _say(confinement.note if server.sandbox else "outside the sandbox, as configured")
        began = time.monotonic()
        running.begin()
        await running.wait()
        return _report(running, time.monotonic() - began)


def _report(running: RunningServer, seconds: float) -> int:
    works = running.state is State.READY
    if works:
        _say(f"{running.server.name} works: {running.version}, {len(running.tools)} tools, {seconds:.1f} s to start")
        tokens = sum(tool.tokens for tool in running.tools)
        _say(f"listed in full, its tools would take about {tokens:,.0f} tokens of the prompt")
        for tool in running.tools:
            _say(f"  {tool.name}  {_first_line(tool)}".rstrip())
    else:
        _say(f"{running.server.name} does not work: {running.reason}")
    if said := running.stderr.text():
        _say("what it wrote to its error output:")
        _say("\n".join(f"  {line}" for line in said.splitlines()))
    return 0 if works else EXIT_DOES_NOT_WORK


def _first_line(tool: KnownTool) -> str:
    return next((line.strip()[:_LINE_CHARS] for line in tool.description.splitlines() if line.strip()), "")


async def _remember(server: McpServer, tools: tuple[KnownTool, ...]) -> None:
    """The next session lists the tools from its start."""
    with contextlib.suppress(OSError):
        await asyncio.to_thread(ToolCache(Places.usual(os.environ).state).write, server, tools)


def _say(text: str) -> None:
    print(safe(text, terminal=sys.stdout.isatty()))
