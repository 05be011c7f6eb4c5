"""The server of `pool web`: textual-serve's, below a path that nobody can guess, with a page that loads nothing from
elsewhere.

Whoever has the address has the user's shell, so each request has to name the token in its path, and the host that the
user was told; a page of another site cannot connect, even with a name that leads here.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from shlex import join
from typing import Any

from aiohttp import web
from textual_serve.server import Server

TOKEN_BYTES = 24

TEMPLATES = Path(__file__).parent / "templates"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
}


class WebServer(Server):
    """Serves a command that is an app of Textual's. told is called with the address once the server listens."""

    def __init__(self, command: Sequence[str], host: str, port: int, told: Callable[[str], None]) -> None:
        shown = f"[{host}]" if ":" in host else host
        super().__init__(  # pyright: ignore[reportUnknownMemberType] textual-serve leaves a type open
            join(command), host, port, title="Pool", public_url=f"http://{shown}:{port}", templates_path=TEMPLATES
        )
        self._authority = f"{shown}:{port}"
        self._token = secrets.token_urlsafe(TOKEN_BYTES)
        self._told = told

    @property
    def address(self) -> str:
        """The address to open."""
        return f"{self.public_url}/{self._token}/"

    async def on_startup(self, app: web.Application) -> None:
        """Nothing yet: the address is told when somebody listens there."""

    def serve(self, debug: bool = False) -> None:
        """Serve until SIGINT or SIGTERM. Nothing is logged: addresses hold the token."""
        self.debug = debug
        web.run_app(
            self._make_app(),
            host=self.host,
            port=self.port,
            access_log=None,
            print=lambda *_: self._told(self.address),
        )

    async def _make_app(self) -> web.Application:
        inner = await super()._make_app()
        outer = web.Application(middlewares=[self._guard()])
        outer.add_subapp(f"/{self._token}", inner)
        return outer

    def _guard(self) -> Any:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            origin = request.headers.get("Origin", self.public_url)
            if request.headers.get("Host", "") != self._authority or origin != self.public_url:
                raise web.HTTPForbidden(text="this address is not the one that pool web printed\n")
            response = await handler(request)
            if not response.prepared:
                response.headers.update(HEADERS)
            return response

        return guard
