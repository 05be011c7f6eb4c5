"""`pool mcp serve`: Pool as an MCP server, over its standard streams or on this machine's loopback address."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import logging
import os
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping, Sequence
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from pool import __version__
from pool.agent.configured import settings_for
from pool.cli.mcp.offering import ALL, READING, OfferedTools, offered
from pool.cli.mcp.taskrun import ABOUT, PARAMETERS, RUN_TASK, run_task
from pool.config.load import flag_values
from pool.config.settings import Settings, SettingsError
from pool.headless.configured import folder_of, tell
from pool_tools import Effect, ToolResult

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
TOKEN_VARIABLE = "POOL_MCP_TOKEN"
_TOKEN_BYTES = 24
_UNAUTHORIZED = 401

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def serve(args: argparse.Namespace) -> int:
    """Serve until the client has gone; returns the exit code. Raises `SettingsError`."""
    flags: dict[str, object] = {
        "sandbox.use": args.sandbox,
        "sandbox.network": args.net,
        "server.base_url": args.base_url,
        "server.model": args.model,
        "approvals.mode": args.mode,
        "approvals.allow": args.allow,
    }
    loaded = settings_for(folder_of(args.dir), os.environ, flag_values(flags))
    tell(loaded.warnings, "pool mcp serve")
    settings = loaded.settings
    # What the SDK reports goes to stderr, never among the messages.
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    return asyncio.run(_serve(settings, flags, args.tools or READING, args.port))


async def _serve(settings: Settings, flags: Mapping[str, object], names: Sequence[str], port: int | None) -> int:
    own = [name for name in names if name != RUN_TASK]
    async with offered(settings, own) as tools:
        server = _server(tools, settings, flags, with_task=RUN_TASK in names or ALL in names)
        sys.stderr.write(f"pool mcp serve: {settings.workspace}; {tools.note}\n")
        if port is not None:
            await _http(server, port)
        else:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
    return 0


def _server(tools: OfferedTools, settings: Settings, flags: Mapping[str, object], *, with_task: bool) -> Server[Any]:
    listed = [
        _declared(tool.spec.name, tool.spec.description, tool.spec.parameters, tool.spec.effect)
        for tool in tools.tools.values()
    ]
    if with_task:
        listed.append(_declared(RUN_TASK, ABOUT, PARAMETERS, Effect.EXECUTE))

    async def list_tools(context: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        if with_task and params.name == RUN_TASK:

            async def progress(done: float, what: str) -> None:
                await context.session.report_progress(done, None, what)

            return _answer(await _to_its_end(run_task(settings, flags, arguments, progress)))
        return _answer(await _to_its_end(tools.call(params.name, arguments)))

    about = f"Works in {settings.workspace}. {tools.note}"
    return Server("pool", version=__version__, instructions=about, on_list_tools=list_tools, on_call_tool=call_tool)


async def _to_its_end(work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
    """Work that a client may cancel. It is cancelled once, and what it started has ended when this returns.

    A cancel scope of the SDK would cancel every further await too, also those that clean up.
    """
    working = asyncio.create_task(work)
    try:
        return await asyncio.shield(working)
    finally:
        with anyio.CancelScope(shield=True):
            working.cancel()
            await asyncio.wait({working})


def _declared(name: str, about: str, parameters: Mapping[str, Any], effect: Effect) -> Tool:
    reads = effect is Effect.READ
    hints = ToolAnnotations(read_only_hint=reads, open_world_hint=effect is Effect.NETWORK)
    return Tool(name=name, description=about, input_schema=dict(parameters), annotations=hints)


def _answer(result: ToolResult) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=result.text)], is_error=not result.ok)


async def _http(server: Server[Any], port: int) -> None:
    """Until a signal ends it. A browser's page reaches nothing: requests need the token, and a loopback host name."""
    import uvicorn

    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(_TOKEN_BYTES)
    app = _with_token(server.streamable_http_app(streamable_http_path=PATH, host=LOOPBACK), token)
    config = uvicorn.Config(app, host=LOOPBACK, port=port, log_level="error", ws="none", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    listening = _listening(port)
    sys.stderr.write(f"http://{LOOPBACK}:{listening.getsockname()[1]}{PATH}\n")
    if TOKEN_VARIABLE not in os.environ:
        sys.stderr.write(f"header of each request: Authorization: Bearer {token}\n")
    sys.stderr.flush()
    await running.serve(sockets=[listening])


def _listening(port: int) -> socket.socket:
    """Raises `SettingsError`."""
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        raise SettingsError(f"--port {port} cannot be listened at: {error}; --port 0 takes any that is free") from None


def _with_token(app: App, token: str) -> App:
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given: bytes = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, wanted):
                await send({"type": "http.response.start", "status": _UNAUTHORIZED, "headers": []})
                await send({"type": "http.response.body", "body": b"the token is missing or wrong\n"})
                return
        await app(scope, receive, send)

    return checked
