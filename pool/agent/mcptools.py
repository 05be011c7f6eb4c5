"""The MCP servers of a session, and the tools by which the model reaches them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pool.config.settings import SandboxChoice, Settings
from pool.events import Body
from pool_tools import Tool
from pool_tools.commands import Commands

if TYPE_CHECKING:
    from pool.extend.mcp.servers import McpServers

_UNCONFINED = frozenset({SandboxChoice.OFF, SandboxChoice.EXTERNAL})
"""With these the user answers for what holds commands, so servers run as commands do."""


def mcp_servers(settings: Settings, commands: Commands, tell: Callable[[Body], object]) -> McpServers | None:
    """The servers that the settings name, none of them started; None without any. commands say what confines them."""
    if not settings.mcp.used:
        return None
    from pool.config.files import Places
    from pool.extend.mcp.launching import launch_for
    from pool.extend.mcp.logins import usual_logins
    from pool.extend.mcp.servers import McpServers

    unconfined = settings.sandbox in _UNCONFINED
    starts = partial(launch_for, commands=commands, environ=os.environ, unconfined=unconfined)
    return McpServers(settings.mcp, commands, starts, Places.usual(os.environ).state, tell, usual_logins(os.environ))


def mcp_tools(servers: McpServers | None, window: int, head: str = "") -> tuple[Tool, ...]:
    """The tools, the same for all of a session. window is in tokens, 0 unknown; head is that of the session that is
    gone on with, as JSON.
    """
    if servers is None:
        return ()
    from pool.extend.mcp.tools import tools_of

    return tools_of(servers, servers.choose_listed(window, names_in(head) if head else None))


def names_in(head: str) -> frozenset[str]:
    """The names of the tools in a head that is JSON."""
    tools: list[Any] = json.loads(head).get("tools") or []
    return frozenset(str(tool["function"]["name"]) for tool in tools)
