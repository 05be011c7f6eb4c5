"""One server while a session runs: started when it is needed, started anew when it died, but not for ever."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pool.config.mcp import McpServer, McpSettings
from pool.extend.mcp.known import KnownTool
from pool.extend.mcp.launching import CannotStart, expanded
from pool.extend.mcp.stderr import StderrTail
from pool_tools import ToolError
from pool_tools.frozen import frozen
from pool_tools.sandbox.base import Launch
from pool_tools.text import visible

if TYPE_CHECKING:
    from pool.extend.mcp.connection import Connection
    from pool.extend.mcp.logins import Logins

STARTS_MOST = 4
"""How often one server is started in a session, the first time included."""

LISTINGS_MOST = 20
"""How often its list of tools is read anew because it says that it has changed."""

SETTLE_SECONDS = 0.2
"""Changes of the list that follow each other so fast are one."""

_REASON_CHARS = 300

_CONNECTION = "pool.extend.mcp.connection"
_OAUTH = "pool.extend.mcp.oauth"
_PACKAGES = frozenset({"mcp", "mcp_types", "httpx2", "anyio"})


class State(StrEnum):
    """What a server does: it was not needed yet, starts, can be asked, could not be started, or ended."""

    WAITING = "not started"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    ENDED = "ended"


class Starts(Protocol):
    """Makes the launch of a server with a command. Blocks. Raises `CannotStart`, OSError."""

    def __call__(self, server: McpServer) -> Launch: ...


@frozen
class Watcher:
    """Who is told: failed, with the reason, when a server fails or dies; listed, when its tools are known."""

    failed: Callable[[McpServer, str], object]
    listed: Callable[[McpServer, tuple[KnownTool, ...]], Awaitable[object]]


class RunningServer:
    """A configured server. All of it runs on the loop of the session."""

    def __init__(
        self,
        server: McpServer,
        limits: McpSettings,
        starts: Starts,
        folder: Path,
        watcher: Watcher,
        logins: Logins | None = None,
    ) -> None:
        """folder is where its process works; logins are those that a person has made."""
        self.server = server
        self.tools: tuple[KnownTool, ...] = ()
        self.state = State.WAITING
        self.reason = ""
        """Why it failed or ended."""
        self.version = ""
        self.stderr = StderrTail()
        self.starts = 0
        self._start_seconds = server.start_seconds or limits.start_seconds
        self._call_seconds = server.call_seconds or limits.call_seconds
        self._launches = starts
        self._folder = folder
        self._logins = logins
        self._watcher = watcher
        self._connection: Connection | None = None
        self._settled = asyncio.Event()
        self._over = asyncio.Event()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def settled(self) -> bool:
        """Whether it is known if the server works."""
        return self.state in (State.READY, State.FAILED, State.ENDED)

    def begin(self) -> None:
        """Start it unless it was started before; nothing waits for that."""
        if self.state is State.WAITING:
            self._start()

    async def wait(self) -> None:
        """Until it is known if the server works; `begin` comes first."""
        await self._settled.wait()

    async def call(self, original: str, arguments: Mapping[str, Any]) -> tuple[bool, str]:
        """Whether a call went well, and its text. Raises `ToolError`. Nothing is tried twice."""
        connection = await self._ready()
        errors = importlib.import_module(_CONNECTION)
        try:
            async with asyncio.timeout(self._call_seconds):
                return await connection.call(original, arguments)
        except TimeoutError:
            raise ToolError(
                f"{self._name} gave no answer within {self._call_seconds:g} s; what it did by then is unknown."
            ) from None
        except errors.CallRefused as error:
            raise ToolError(f"{self._name} refused the call: {_short(error)}") from None
        except errors.ConnectionLost as error:
            self._over.set()
            if self._task is not None:
                await asyncio.wait({self._task})
            why = self.reason or _short(error)
            raise ToolError(
                f"{self._name} was lost during the call: {why}. What it did by then is unknown. {self._left()}"
            ) from None

    async def close(self) -> None:
        """End it; no process of it is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def _name(self) -> str:
        return f"The MCP server {visible(self.server.name)}"

    def _left(self) -> str:
        left = STARTS_MOST - self.starts
        return "The next call starts it anew." if left else "It is not started again in this session."

    async def _ready(self) -> Connection:
        if self.state is not State.READY and self.state is not State.STARTING:
            if self.starts >= STARTS_MOST:
                raise ToolError(f"{self._name} does not work: {self.reason}. {self._left()}")
            self._start()
        await self._settled.wait()
        if self._connection is None:
            raise ToolError(f"{self._name} does not work: {self.reason}. {self._left()}")
        return self._connection

    def _start(self) -> None:
        self.state, self.reason = State.STARTING, ""
        self.starts += 1
        self._settled.clear()
        self._over.clear()
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        """From the start to the end; the connection belongs to this one task."""
        try:
            async with asyncio.timeout(self._start_seconds) as limit:
                # Large, so in a thread: the session goes on meanwhile.
                module = await asyncio.to_thread(importlib.import_module, _CONNECTION)
                launch = await asyncio.to_thread(self._launches, self.server) if self.server.command else None
                headers = dict(expanded(self.server.headers, os.environ))
                auth = await asyncio.to_thread(self._login) if self.server.url else None
                async with module.connected(
                    self.server, launch, headers, self._folder, self.stderr, self._ended, self._changed.set, auth
                ) as connection:
                    self.version = visible(connection.version)
                    await self._list(connection)
                    limit.reschedule(None)
                    self._connection, self.state = connection, State.READY
                    self._settled.set()
                    await self._until_over(connection)
        except TimeoutError:
            self._stopped(State.FAILED, f"it did not start within {self._start_seconds:g} s")
        except ModuleNotFoundError as error:
            if error.name not in _PACKAGES:
                raise
            self._stopped(State.FAILED, f"the package {error.name} is missing; pip install 'laguna-pool[mcp]'")
        except CannotStart as error:
            self._stopped(State.FAILED, str(error))
        except Exception as error:
            self._stopped(State.FAILED, self._why(_leaf(error)))
        else:
            self._stopped(State.ENDED, self.reason or "the connection was lost")
        finally:
            self._connection = None
            self._settled.set()

    async def _until_over(self, connection: Connection) -> None:
        listings = 0
        over = asyncio.ensure_future(self._over.wait())
        try:
            while listings < LISTINGS_MOST:
                changed = asyncio.ensure_future(self._changed.wait())
                try:
                    await asyncio.wait({over, changed}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                if over.done():
                    return
                await asyncio.sleep(SETTLE_SECONDS)
                self._changed.clear()
                listings += 1
                with contextlib.suppress(Exception):
                    # A server that cannot say what has changed keeps the tools that it had.
                    async with asyncio.timeout(self._start_seconds):
                        await self._list(connection)
            await over
        finally:
            over.cancel()

    async def _list(self, connection: Connection) -> None:
        self.tools = await connection.tools()
        await self._watcher.listed(self.server, self.tools)

    def _login(self) -> Any:
        """What sends the tokens of a login, None where there is none. Raises `SettingsError`."""
        login = self._logins.read(self.server) if self._logins is not None else None
        if login is None or self._logins is None:
            return None
        oauth = importlib.import_module(_OAUTH)
        return oauth.KeptLogin(self.server, oauth.LoginStore(self._logins, self.server, login), self._refused)

    def _refused(self) -> None:
        remedy = f"`pool mcp login {self.server.name}` makes a new one"
        self._ended(f"the login has expired or was taken back; {remedy}")

    def _ended(self, why: str) -> None:
        """The connection ended by itself, perhaps before it stood."""
        if not self.reason:
            self.reason = why
        self._over.set()

    def _why(self, error: BaseException) -> str:
        """The reason of a failure: what the process did, before what the SDK made of it."""
        return self.reason or _short(error) or type(error).__name__

    def _stopped(self, state: State, reason: str) -> None:
        said = self.stderr.best_line()
        self.state, self.reason = state, f"{reason} (it said: {said})" if said else reason
        self._watcher.failed(self.server, self.reason)


def _short(error: BaseException) -> str:
    return visible(" ".join(str(error).split()))[:_REASON_CHARS].rstrip(".")


def _leaf(error: BaseException) -> BaseException:
    """The first cause in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    return error
