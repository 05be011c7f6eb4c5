"""A connection to one server, by the official SDK: the handshake, its tools, calls. Imported when one is started."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
    ToolListChangedNotification,
)

from pool import __version__
from pool.config.mcp import SSE, McpServer
from pool.extend.mcp.known import KnownTool, known_tools
from pool.extend.mcp.results import text_of
from pool.extend.mcp.stderr import StderrTail
from pool.extend.mcp.stdio import stdio_streams
from pool_tools.sandbox.base import Launch

CONNECT_SECONDS = 15.0
_UNAUTHORIZED = 401
READ_SECONDS = 3_600.0
"""The most that a stream of events may be silent; each call has its own, shorter limit."""

PAGES_MOST = 50
TOOLS_MOST = 1_000
"""What a list of tools is read to, and how many of them count."""


class ConnectionLost(Exception):
    """The server is not there any more; what it was doing is unknown."""


class CallRefused(Exception):
    """The server answered with an error instead of a result. The message is the server's."""


class _Session(ClientSession):
    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Nothing: a model reads the result, and a form that the server broke is no reason to lose it."""


@asynccontextmanager
async def connected(
    server: McpServer,
    launch: Launch | None,
    headers: Mapping[str, str],
    cwd: Path,
    stderr: StderrTail,
    ended: Callable[[str], object],
    changed: Callable[[], object],
    auth: httpx2.Auth | None = None,
) -> AsyncGenerator[Connection]:
    """A session with its handshake done. launch is what to start, None for a server with an address.

    auth is the login at a server with an address. ended gets why the connection ended by itself; changed is called when
    the server says that its tools have changed.
    """
    # The SDK reports what a server does wrong to logging, whose last resort is the terminal.
    logging.getLogger("mcp").propagate = False
    logging.getLogger("mcp").addHandler(logging.NullHandler())

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    async with AsyncExitStack() as stack:
        if launch is not None:
            read, write = await stack.enter_async_context(stdio_streams(launch, cwd, stderr, ended))
        elif server.transport == SSE:
            opened = sse_client(server.url, dict(headers), CONNECT_SECONDS, READ_SECONDS, auth=auth)
            read, write = await stack.enter_async_context(opened)
        else:
            timeout = httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
            hooks = {"response": [_wants_login(server.name, ended)]} if auth is None else {}
            made = httpx2.AsyncClient(headers=dict(headers), timeout=timeout, auth=auth, event_hooks=hooks)
            client = await stack.enter_async_context(made)
            read, write = await stack.enter_async_context(streamable_http_client(server.url, http_client=client))
        told = Implementation(name="pool", version=__version__)
        session = await stack.enter_async_context(_Session(read, write, message_handler=heard, client_info=told))
        await session.initialize()
        yield Connection(server.name, session)


def _wants_login(name: str, ended: Callable[[str], object]) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Looks at answers for one that asks who is there; the SDK's own error does not say so."""

    async def look(response: httpx2.Response) -> None:
        if response.status_code == _UNAUTHORIZED:
            ended(f"it wants a login (HTTP 401); `pool mcp login {name}` makes one where it takes OAuth")

    return look


class Connection:
    """A server that can be asked."""

    def __init__(self, name: str, session: ClientSession) -> None:
        self._name = name
        self._session = session

    @property
    def version(self) -> str:
        """What the server calls itself."""
        info = self._session.server_info
        return f"{info.name} {info.version}" if info else ""

    async def tools(self) -> tuple[KnownTool, ...]:
        """All its tools. Raises whatever the SDK does."""
        rows: list[tuple[str, str, object, bool]] = []
        cursor: str | None = None
        for _ in range(PAGES_MOST):
            listed = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
            for tool in listed.tools:
                reads = bool(tool.annotations and tool.annotations.read_only_hint)
                rows.append((tool.name, tool.description or tool.title or "", tool.input_schema, reads))
            cursor = listed.next_cursor
            if not cursor or len(rows) >= TOOLS_MOST:
                break
        return known_tools(self._name, rows[:TOOLS_MOST])

    async def call(self, original: str, arguments: Mapping[str, Any]) -> tuple[bool, str]:
        """Whether a call went well, and its text. Raises `ConnectionLost`, `CallRefused`."""
        try:
            result = await self._session.call_tool(original, dict(arguments))
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise ConnectionLost(error.message) from error
            raise CallRefused(error.message) from error
        except RuntimeError as error:
            # The SDK's word for results that need something of the user, which Pool does not offer.
            raise CallRefused(str(error)) from error
        except Exception as error:
            raise ConnectionLost(str(error) or type(error).__name__) from error
        return not result.is_error, text_of(result)
