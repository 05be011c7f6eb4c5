"""A connection with another agent: its process, what it says of itself, one session in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pool import __version__
from pool.extend.acp.errors import Gone, RpcError
from pool.extend.acp.peer import Handler, Peer
from pool.facekit.agents.abilities import Abilities, abilities_of
from pool.facekit.agents.descriptions import AgentDescription, AgentError
from pool.facekit.agents.process import AgentProcess
from pool.facekit.agents.translating import Json, row_of, rows_of
from pool.facekit.clean import one_line
from pool_tools.frozen import frozen
from pool_tools.text import clip

PROTOCOL_VERSION = 1
START_SECONDS = 60.0
"""How long an agent may take to say what it is: some are fetched by their launcher first."""

SESSION_SECONDS = 60.0
LOGIN_SECONDS = 300.0
"""A login may wait for a person at a browser."""

AUTH_REQUIRED = -32000
AGAIN = "/new starts it again"
WORDS_CHARS = 300


@frozen
class AuthMethod:
    """A way to log in that the agent offers."""

    id: str
    name: str
    about: str


class LoginWanted(AgentError):
    """The agent opens no session before a login."""


class AgentConnection:
    """Used on one loop. on_end is told why the agent has gone, unless it was closed."""

    def __init__(self, agent: AgentDescription, folder: Path, on_end: Callable[[str], object]) -> None:
        self.agent = agent
        self.session = ""
        self.version = ""
        self.methods: tuple[AuthMethod, ...] = ()
        self.abilities = Abilities()
        self.opened: Json = {}
        self._folder = folder
        self._on_end = on_end
        self._ended = ""
        self._process = AgentProcess(self._take, self._gone)
        self.peer = Peer(self._process.send, complain=lambda method, error: None)

    def serve(self, methods: dict[str, Handler], heard: dict[str, Handler]) -> None:
        """What the agent may ask and tell."""
        self.peer.methods, self.peer.heard = methods, heard

    async def start(self) -> None:
        """Start it and let it say what it is. Raises `AgentError`."""
        await self._process.start(self.agent, self._folder)
        files = self.agent.files
        said = await self.ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": {
                    "fs": {"readTextFile": files, "writeTextFile": files},
                    "session": {"configOptions": {"boolean": {}}},
                    "terminal": False,
                },
                "clientInfo": {"name": "pool", "title": "Pool", "version": __version__},
            },
            START_SECONDS,
        )
        row = row_of(said)
        if (version := row.get("protocolVersion")) != PROTOCOL_VERSION:
            raise AgentError(
                f"{self.agent.title} speaks version {version!r} of the protocol, Pool version {PROTOCOL_VERSION}",
                "bring both up to date",
            )
        self.version = clip(one_line(str(row_of(row.get("agentInfo")).get("version") or "")), WORDS_CHARS)
        self.abilities = abilities_of(row)
        self.methods = tuple(
            AuthMethod(str(one.get("id")), one_line(str(one.get("name") or one.get("id"))), _about(one))
            for one in rows_of(row.get("authMethods"))
        )

    async def open(self, earlier: str = "") -> None:
        """Open a session, or go on with an earlier one of the agent's. Raises `LoginWanted`, `AgentError`."""
        place: Json = {"cwd": str(self._folder), "mcpServers": []}
        if earlier:
            await self._go_on(earlier, place)
            return
        self.opened = row_of(await self.ask("session/new", place, SESSION_SECONDS))
        session = self.opened.get("sessionId")
        if not isinstance(session, str) or not session:
            raise AgentError(f"{self.agent.title} opened a session without an id", AGAIN)
        self.session = session

    async def _go_on(self, earlier: str, place: Json) -> None:
        if not (self.abilities.loads or self.abilities.resumes):
            raise AgentError(f"{self.agent.title} cannot go on with an earlier session", "/new begins one")
        # What it tells of the session comes before the answer, and is about this id.
        self.session = earlier
        method = "session/load" if self.abilities.loads else "session/resume"
        self.opened = row_of(await self.ask(method, {"sessionId": earlier, **place}, SESSION_SECONDS))

    async def log_in(self, method: str) -> None:
        """Log in by one of its methods. Raises `AgentError`."""
        await self.ask("authenticate", {"methodId": method}, LOGIN_SECONDS)

    async def ask(self, method: str, params: Json, seconds: float) -> Any:
        """Ask the agent. Raises `AgentError`, in words for the person, and `LoginWanted`."""
        title = self.agent.title
        try:
            async with asyncio.timeout(seconds):
                return await self.peer.request(method, params)
        except TimeoutError:
            raise AgentError(f"{title} did not answer {method} within {seconds:.0f} s", AGAIN) from None
        except Gone:
            raise AgentError(self.gone_words(), AGAIN) from None
        except RpcError as error:
            why = clip(one_line(str(error)), WORDS_CHARS)
            if error.code == AUTH_REQUIRED:
                raise LoginWanted(f"{title} wants a login: {why}", self.login_words()) from None
            raise AgentError(f"{title} refused {method}: {why}{_details(error)}", AGAIN) from None

    def login_words(self) -> str:
        """How one logs in."""
        offers = [f"/login {one.id} ({one.name}{one.about})" for one in self.methods]
        ways = [*([self.agent.login] if self.agent.login else []), *offers]
        return f"{'; or '.join(ways) or 'its own documentation says how'}; then /new"

    def gone_words(self) -> str:
        """That it has gone and why, with what it wrote last to its error output."""
        said = self._process.complaint()
        return f"{self.agent.title} has gone: {self._ended or 'it ended'}{f'; it wrote: {said}' if said else ''}"

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    async def close(self) -> None:
        """End the agent with all it started."""
        self._on_end = _nobody
        self.peer.hang_up()
        await self._process.close()
        self.peer.close()

    def _take(self, line: bytes) -> None:
        self.peer.take(line)

    def _gone(self, why: str) -> None:
        self._ended = why
        self.peer.hang_up()
        self._on_end(why)


def _about(method: Json) -> str:
    about = one_line(str(method.get("description") or ""))
    return f": {clip(about, WORDS_CHARS)}" if about and about != method.get("name") else ""


def _details(error: RpcError) -> str:
    data = error.data
    more = row_of(data).get("details") or row_of(data).get("message") or (data if isinstance(data, str) else "")
    return f" ({clip(one_line(str(more)), WORDS_CHARS)})" if more else ""


def _nobody(why: str) -> None:
    """Who has closed it needs not be told."""
