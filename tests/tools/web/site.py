"""Web servers for tests: real ones on loopback, which stand for hosts with public addresses.

Only a test can do that: what resolves names and what connects are given to the dialer, and every check is the real one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from pool_tools.api import Step, ToolResult
from pool_tools.network.dial import Dialer, Streams, connect
from pool_tools.network.rules import AllowList
from pool_tools.web.fetch import FetchTool

PUBLIC = "93.184.216.34"
"""An address that lies in no special range; nothing is ever sent there."""

Pages = Mapping[str, bytes]


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", status: int = 200, **fields: str) -> bytes:
    raw = body.encode() if isinstance(body, str) else body
    head = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(raw)}"]
    head += [f"Content-Type: {kind}"] if kind else []
    head += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + raw


def moved(to: str, status: int = 302) -> bytes:
    return page("", status=status, Location=to)


_NOTHING = page("nothing here", "text/plain", 404)


class Site:
    """A tool before a server with pages by host and path; asked are the requests, dialled what was connected to."""

    def __init__(self, port: int, tls_port: int, pages: Pages) -> None:
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.steps: list[str] = []
        self.approves = ""
        self.holds: asyncio.Event | None = None
        self.addresses: dict[str, Sequence[str]] = {}
        self.listed: AllowList | None = AllowList()
        self.port = port
        self.paths: list[str] = []
        self._ports = {80: port, 443: tls_port}
        self.pages = pages

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        return self.addresses.get(host, (PUBLIC,))

    async def connect(self, host: str, port: int, *, tls: bool = False) -> Streams:
        self.dialled.append((host, port))
        return await connect("127.0.0.1", self._ports.get(port, self._ports[80]))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            path = head.split(" ")[1]
            host = next(line[6:] for line in head.split("\r\n") if line.startswith("Host: "))
            self.asked.append(host + path)
            self.paths.append(path)
            found = self.pages.get("*" if "*" in self.pages else host + path, _NOTHING)
            writer.write(found)
            await writer.drain()
            if self.holds is not None:
                await self.holds.wait()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def confirm(self, step: Step) -> str:
        self.steps.append(str(step.args["url"]))
        return self.approves

    def tool(self, tls: ssl.SSLContext | None = None) -> FetchTool:
        async def opener() -> Dialer:
            return Dialer({}, self.resolve, self.connect)

        return FetchTool(opener, lambda: self.listed, tls)

    async def get(self, url: str, tool: FetchTool | None = None, **args: object) -> ToolResult:
        return await (tool or self.tool()).run_steps({"url": url, **args}, lambda _: None, self.confirm)


@asynccontextmanager
async def serving(pages: Pages, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Site]:
    sites: list[Site] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await sites[0].serve(reader, writer)

    servers = [await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) for context in (None, tls)]
    ports = [server.sockets[0].getsockname()[1] for server in servers]
    sites.append(Site(ports[0], ports[1], pages))
    try:
        yield sites[0]
    finally:
        for server in servers:
            server.close()
            await server.wait_closed()
