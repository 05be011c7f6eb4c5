"""Servers with an address, over real sockets: HTTP and SSE, their headers, and addresses that do not work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

from pool.config.mcp import HTTP, SSE, McpServer
from pool.extend.mcp.server import State
from pool_tools import ToolError
from tests.extend.mcp.desk import opened

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


def adder() -> MCPServer:
    server = MCPServer("adder")

    @server.tool()
    def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Add two numbers."""
        return a + b

    return server


@asynccontextmanager
async def serving(app: App, seen: list[str]) -> AsyncGenerator[str]:
    """The address of an app; seen gets each request's authorization."""

    async def noting(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        await app(scope, receive, send)

    config = uvicorn.Config(noting, port=0, log_level="error", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@pytest.mark.parametrize(("transport", "path"), [(HTTP, "/mcp"), (SSE, "/sse")])
async def test_a_server_with_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str, path: str
) -> None:
    monkeypatch.setenv("ADDER_TOKEN", "t0ken")
    app = adder().streamable_http_app() if transport == HTTP else adder().sse_app()
    seen: list[str] = []
    async with serving(app, seen) as url:
        headers = (("Authorization", "Bearer ${ADDER_TOKEN}"),)
        server = McpServer("adder", url=url + path, headers=headers, transport=transport)
        async with opened(tmp_path, server) as desk:
            assert "mcp__adder__add: Add two numbers." in await desk.find("add")
            assert (await desk.call("mcp__adder__add", a=2, b="3")).text == "5"
            with pytest.raises(ToolError, match="b"):
                await desk.call("mcp__adder__add", a=2)
    assert set(seen) == {"Bearer t0ken"}


async def test_addresses_that_do_not_work(tmp_path: Path) -> None:
    async def refusing(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"who are you?"})

    async with serving(refusing, []) as url:
        servers = (
            McpServer("refusing", url=f"{url}/mcp", transport=HTTP),
            McpServer("refusing-sse", url=f"{url}/sse", transport=SSE),
            McpServer("nobody", url="http://127.0.0.1:9/mcp", transport=HTTP),
        )
        async with opened(tmp_path, *servers, start_seconds=5.0) as desk:
            found = await desk.find()
            states = {one.name: (one.state, one.reason) for one in desk.servers.status()}
    assert {state for state, _ in states.values()} == {State.FAILED}, states
    assert all(reason for _, reason in states.values())
    assert "401" in states["refusing-sse"][1]
    assert "nobody: failed" in found
