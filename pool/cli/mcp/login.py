"""`pool mcp login` and `logout`: OAuth at a server with an address, in a browser here or on another machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs, urlsplit

from pool.agent.configured import settings_for
from pool.cli.mcp.files import named
from pool.config.keyrings import PERSON_SECONDS
from pool.config.mcp import McpServer
from pool.config.settings import SettingsError
from pool.extend.mcp.logins import usual_logins
from pool.headless.configured import folder_of
from pool.headless.plain import safe

if TYPE_CHECKING:
    from mcp.client.auth import AuthorizationCodeResult

LOGIN_SECONDS = 600.0
"""How long a person may take."""

LOOPBACK = "127.0.0.1"
EXIT_NO_LOGIN = 1
_HEAD_BYTES = 32 * 1024
_DONE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nYou can close this page.\n"
_NOT_THIS = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"
_PATH = "/callback"
_LOCAL = frozenset({"127.0.0.1", "::1", "localhost"})


def log_in(folder: str, name: str, *, browser: bool) -> int:
    """Returns the exit code. Raises `SettingsError`, OSError."""
    server = _server(folder, name)
    if any(header.lower() == "authorization" for header, _ in server.headers):
        raise SettingsError(f"{name} has an Authorization header in its configuration; take that out first")
    try:
        return asyncio.run(_log_in(server, browser=browser))
    except ModuleNotFoundError as error:
        raise SettingsError(f"a login needs the package {error.name!r}: pip install 'laguna-pool[mcp]'") from None


def log_out(folder: str, name: str) -> int:
    """Returns the exit code. Raises `SettingsError`, OSError."""
    server = _server(folder, name)
    found = usual_logins(os.environ, PERSON_SECONDS).remove(server)
    _say(f"the login at {name} is forgotten" if found else f"there is no login at {name}")
    return 0 if found else EXIT_NO_LOGIN


def _server(folder: str, name: str) -> McpServer:
    server = named(settings_for(folder_of(folder), os.environ, with_key=False), name)
    if not server.url:
        raise SettingsError(f"{name} is a program; logins are for servers with an address")
    return server


async def _log_in(server: McpServer, *, browser: bool) -> int:
    from pool.extend.mcp.connection import connected
    from pool.extend.mcp.launching import expanded
    from pool.extend.mcp.oauth import LoginStore, new_login
    from pool.extend.mcp.stderr import StderrTail

    store = LoginStore(usual_logins(os.environ, PERSON_SECONDS), server)
    headers = dict(expanded(server.headers, os.environ))
    async with _coming_back() as (redirect, came):

        async def show(address: str) -> None:
            _show(server, address, browser=browser)

        auth = new_login(server, store, redirect, show, lambda: _answer(came))
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                async with connected(server, None, headers, Path(), StderrTail(), _heard, _heard, auth):
                    store.metadata = auth.context.oauth_metadata
                    await store.save()
        except TimeoutError:
            _fail(f"nobody has logged in at {server.name} for {LOGIN_SECONDS / 60:g} minutes")
            return EXIT_NO_LOGIN
        except Exception as error:  # whatever the SDK or the server makes of it
            _fail(f"the login at {server.name} failed: {_leaf(error)}")
            return EXIT_NO_LOGIN
    if not store.place:
        _say(f"{server.name} asks for no login")
        return 0
    _say(f"logged in at {server.name}; kept in {store.place}")
    return 0


async def _answer(came: asyncio.Queue[str]) -> AuthorizationCodeResult:
    """What came back, from the browser or pasted."""
    from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError

    while True:
        fields = parse_qs(urlsplit(await came.get()).query)
        if error := fields.get("error"):
            raise OAuthFlowError(f"it was refused: {(fields.get('error_description') or error)[0]}")
        if code := fields.get("code"):
            return AuthorizationCodeResult(
                code=code[0], state=fields.get("state", [""])[0], iss=fields["iss"][0] if "iss" in fields else None
            )
        _fail("that is not the address to which the browser was sent; it has code= in it")


@asynccontextmanager
async def _coming_back() -> AsyncGenerator[tuple[str, asyncio.Queue[str]]]:
    """Where the browser comes back to, and the addresses that come: by the browser, and as lines on stdin."""
    came: asyncio.Queue[str] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readline()).decode("latin-1").split(" ")
            fits = len(line) > 1 and line[0] == "GET" and urlsplit(line[1]).path == _PATH
            writer.write(_DONE if fits else _NOT_THIS)
            await writer.drain()
            if fits:
                came.put_nowait(line[1])
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, LOOPBACK, 0, limit=_HEAD_BYTES)
    lines = asyncio.create_task(_pasted(came))
    try:
        yield f"http://{LOOPBACK}:{listening.sockets[0].getsockname()[1]}{_PATH}", came
    finally:
        lines.cancel()
        listening.close()


async def _pasted(came: asyncio.Queue[str]) -> None:
    """Lines of stdin, by a thread that nobody waits for: it may sit in a read for ever."""
    loop = asyncio.get_running_loop()

    def take(line: str) -> None:
        came.put_nowait(line.strip())

    def read() -> None:
        # The loop, or stdin, may be closed by the time a line comes.
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            while line := sys.stdin.readline():
                loop.call_soon_threadsafe(take, line)

    threading.Thread(target=read, name="pasted", daemon=True).start()
    await asyncio.Event().wait()


def _show(server: McpServer, address: str, *, browser: bool) -> None:
    """Bring an address before a person. It comes from the server: only what a browser opens as a page is taken."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
        raise SettingsError(f"{server.name} wants a login at {address}, which is not encrypted")
    _say(f"To log in at {server.name}, open this address in a browser:\n\n{address}\n")
    if browser and not os.environ.get("SSH_CONNECTION") and _has_screen():
        webbrowser.open(address)
    _say("If the browser is on another machine, it ends at a page that does not load: paste its address here.")


def _has_screen() -> bool:
    """Whether a browser would get a window, and not take the terminal."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _leaf(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    return str(error) or type(error).__name__


def _heard(*_: object) -> None:
    """Nothing is done when the connection ends or its tools change."""


def _say(text: str) -> None:
    print(safe(text, terminal=sys.stdout.isatty()), flush=True)


def _fail(text: str) -> None:
    sys.stderr.write(safe(f"pool mcp login: {text}", terminal=True) + "\n")
