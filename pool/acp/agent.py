"""The methods of the protocol. What a session is made of is imported with the first session, so that `initialize` is
answered at once.
"""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pool import __version__
from pool.acp.params import folder, meta, number, offered, optional_text, path, rows, table, text
from pool.extend.acp.errors import RESOURCE_NOT_FOUND, RpcError, bad_params
from pool.extend.acp.peer import Answer, Handler, Peer

if TYPE_CHECKING:
    from pool.acp.session import Client, OpenSession
    from pool.config.settings import Settings

Json = dict[str, Any]

PROTOCOL_VERSION = 1

CAPABILITIES: Json = {
    "loadSession": True,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
    "_meta": {"poolside/session_steer": True, "poolside/rewind": True},
}


class SettingsFor(Protocol):
    """Gives the settings of a session in a folder (blocking: for a thread). Raises `SettingsError`."""

    def __call__(self, workspace: Path, *, resume: str = "", fork: str = "") -> Settings: ...


class AcpAgent:
    """All open sessions of one client. confined: MCP servers that it hands over run in the sandbox."""

    def __init__(self, peer: Peer, settings_for: SettingsFor, *, confined: bool = True) -> None:
        self._peer = peer
        self._settings_for = settings_for
        self._confined = confined
        self._capabilities: Json = {}
        self._open: dict[str, OpenSession] = {}
        self._by_id = asyncio.Lock()
        """Held while a session that is named is opened, closed or deleted."""
        self._imports: asyncio.Future[None] | None = None
        later: dict[str, Handler] = {
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
            "_poolside/session_steer": self._steer,
            "_poolside/session_rewind": self._rewind,
        }
        peer.methods = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            **{name: self._imported(handler) for name, handler in later.items()},
        }
        peer.heard = {"session/cancel": self._cancel}

    async def end(self) -> None:
        """Close all sessions."""
        await asyncio.gather(*(session.close() for session in self._open.values()))
        self._open.clear()

    def cancel_all(self) -> None:
        """Stop all that works: the client has gone."""
        for session in self._open.values():
            session.cancel()

    # -- connection

    def _imported(self, handler: Handler) -> Handler:
        """A handler that waits for what a session is made of.

        One thread imports it: two that import modules of one package at once may each see half of one.
        """

        async def handle(params: Json) -> Any:
            imports = self._import_soon()
            if not imports.done():
                await asyncio.shield(imports)
            return await handler(params)

        return handle

    def _import_soon(self) -> asyncio.Future[None]:
        if self._imports is None:
            self._imports = asyncio.get_running_loop().run_in_executor(None, _import_all)
        return self._imports

    async def _initialize(self, params: Json) -> Answer:
        version = number(params, "protocolVersion")
        self._capabilities = table(params, "clientCapabilities")
        result: Json = {
            "protocolVersion": version if version == PROTOCOL_VERSION else PROTOCOL_VERSION,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": {"name": "pool", "title": "Pool", "version": __version__},
            "authMethods": [],
        }
        return Answer(result, self._import_soon)

    async def _authenticate(self, params: Json) -> Json:
        raise bad_params(f"there is no method {text(params, 'methodId')!r}: Pool needs no login")

    def _client(self) -> Client:
        from pool.acp.session import Client

        files = offered(self._capabilities, "fs")
        return Client(
            reads=files.get("readTextFile") is True,
            writes=files.get("writeTextFile") is True,
            forms=offered(self._capabilities, "elicitation").get("form") is not None,
            terminals=meta(self._capabilities).get("terminal_output") is True,
        )

    # -- sessions

    async def _new(self, params: Json) -> Answer:
        session = await self._opened(params)
        return Answer({"sessionId": session.id, **_state(session)}, session.release)

    async def _load(self, params: Json) -> Answer:
        session = await self._past(params)
        session.replay()
        return Answer(_state(session), session.release)

    async def _resume(self, params: Json) -> Answer:
        session = await self._past(params)
        return Answer(_state(session), session.release)

    async def _fork(self, params: Json) -> Answer:
        source = text(params, "sessionId")
        await _known(source)
        session = await self._opened(params, fork=source)
        return Answer({"sessionId": session.id, **_state(session)}, session.release)

    async def _past(self, params: Json) -> OpenSession:
        """A session of an earlier time, opened; one that is open already is closed first."""
        wanted = text(params, "sessionId")
        async with self._by_id:
            if (before := self._open.pop(wanted, None)) is not None:
                await before.close()
            await _known(wanted)
            return await self._opened(params, resume=wanted)

    async def _opened(self, params: Json, *, resume: str = "", fork: str = "") -> OpenSession:
        place = folder(params, "cwd")
        from pool.acp.mcpservers import servers_of, with_servers
        from pool.acp.session import OpenSession
        from pool.config.settings import SettingsError

        servers = servers_of(params, confined=self._confined)
        try:
            settings = await asyncio.to_thread(self._settings_for, place, resume=resume, fork=fork)
        except SettingsError as error:
            raise bad_params(str(error)) from None
        settings = replace(settings, mcp=with_servers(settings.mcp, servers))
        opened = OpenSession(self._peer, self._client(), place, settings)
        await opened.open()
        self._open[opened.id] = opened
        return opened

    async def _list(self, params: Json) -> Json:
        from pool.acp.listing import page_of

        place = "" if params.get("cwd") is None else str(Path(path(params, "cwd")).resolve())
        return await asyncio.to_thread(page_of, place, optional_text(params, "cursor"))

    async def _close(self, params: Json) -> Json:
        async with self._by_id:
            session = self._session(params)
            del self._open[session.id]
            await session.close()
        return {}

    async def _delete(self, params: Json) -> Json:
        from pool.acp.listing import remove

        wanted = text(params, "sessionId")
        async with self._by_id:
            if (session := self._open.pop(wanted, None)) is not None:
                await session.close()
            await asyncio.to_thread(remove, wanted)
        return {}

    def _session(self, params: Json) -> OpenSession:
        wanted = text(params, "sessionId")
        session = self._open.get(wanted)
        if session is None:
            raise RpcError(RESOURCE_NOT_FOUND, f"the session {wanted!r} is not open; session/load opens it")
        return session

    # -- in a session

    async def _prompt(self, params: Json) -> Json:
        session = self._session(params)
        from pool.acp.prompting import prompt_text

        said = prompt_text(rows(params, "prompt"), session.settings.workspace)
        return await session.prompt(said, _input_id(meta(params).get("poolside/clientInputId")))

    async def _cancel(self, params: Json) -> None:
        self._session(params).cancel()

    async def _set_mode(self, params: Json) -> Json:
        self._session(params).set_mode(text(params, "modeId"))
        return {}

    async def _set_option(self, params: Json) -> Json:
        session = self._session(params)
        return {"configOptions": await session.set_option(text(params, "configId"), params.get("value"))}

    async def _steer(self, params: Json) -> Json:
        session = self._session(params)
        from pool.acp.prompting import prompt_text

        given = params.get("prompt")
        blocks = (
            rows(params, "prompt") if isinstance(given, list) else [{"type": "text", "text": text(params, "prompt")}]
        )
        wanted = optional_text(params, "inputId")
        session.steer(prompt_text(blocks, session.settings.workspace), wanted)
        return {"inputId": wanted}

    async def _rewind(self, params: Json) -> Json:
        return await self._session(params).rewind(text(params, "eventId"))


def _state(session: OpenSession) -> Json:
    return {"modes": session.modes(), "configOptions": session.options()}


def _input_id(value: object) -> str:
    return value if isinstance(value, str) else ""


async def _known(session: str) -> None:
    from pool.acp.listing import exists

    if not await asyncio.to_thread(exists, session):
        raise RpcError(RESOURCE_NOT_FOUND, f"there is no session {session!r}; session/list names them")


def _import_all() -> None:
    for name in ("pool.acp.session", "pool.acp.prompting", "pool.acp.mcpservers", "pool.agent.factory"):
        importlib.import_module(name)
