"""An editor and Pool's agent for it in one process, joined message by message, before a model server with a script."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pool.acp.agent import AcpAgent
from pool.config.settings import Mode, SandboxChoice, Settings
from pool.extend.acp.peer import Peer
from tests.cases.driver import MODEL, ModelServer, Step
from tests.wire.scripted import Exchange

Json = dict[str, Any]
Asked = Callable[[Json], Awaitable[Any]]

WAIT_SECONDS = 20.0
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


@dataclass
class Editor:
    """The client: updates are kept in order, permissions answered by `answer`."""

    peer: Peer
    agent: AcpAgent
    server: ModelServer
    folder: Path
    updates: list[Json] = field(default_factory=list[Json])
    asked: list[Json] = field(default_factory=list[Json])
    session: str = ""
    answer: str | None = "once"
    """The id of the option that is chosen, None for `cancelled`; "wait" leaves the question open."""
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def begin(self, capabilities: Json | None = None, **params: Any) -> Json:
        """Introduce itself and open a session: the answer to `session/new`."""
        await self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities or {})
        opened = await self.ask("session/new", cwd=str(self.folder), **{"mcpServers": [], **params})
        self.session = opened["sessionId"]
        return opened

    async def ask(self, method: str, **params: Any) -> Any:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.peer.request(method, params)

    async def prompt(self, text: str = "Do it.", **params: Any) -> Json:
        block = {"type": "text", "text": text}
        return await self.ask("session/prompt", **{"sessionId": self.session, "prompt": [block], **params})

    def cancel(self) -> None:
        self.peer.notify("session/cancel", {"sessionId": self.session})

    def of(self, kind: str) -> list[Json]:
        """Updates of a kind so far."""
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.of(kind))

    def call(self, call_id: str = "c1") -> Json:
        """A tool call as its updates leave it."""
        out: Json = {}
        for update in self.updates:
            if update.get("toolCallId") == call_id:
                out |= update
        return out

    def ran(self, call_id: str) -> bool:
        """Whether a call has begun to run."""
        return any(u.get("toolCallId") == call_id and u.get("status") == "in_progress" for u in self.updates)

    async def until(self, test: Callable[[], bool]) -> None:
        """Wait until something that was told or asked makes a test true."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not test():
                self.news.clear()
                await self.news.wait()

    async def updated(self, params: Json) -> None:
        assert params["sessionId"]
        self.updates.append(params["update"])
        self.news.set()

    async def permission(self, params: Json) -> Json:
        self.asked.append(params)
        self.news.set()
        if self.answer == "wait":
            await asyncio.Event().wait()
        if self.answer is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": self.answer}}


@contextlib.asynccontextmanager
async def editing(folder: Path, *steps: Step, mode: Mode = Mode.DEFAULT, **changes: Any) -> AsyncGenerator[Editor]:
    """An editor with Pool beside it; nothing is opened yet. changes are for the settings."""
    async with ModelServer(*steps) as server:

        def settings_for(workspace: Path, *, resume: str = "", fork: str = "") -> Settings:
            given = {"mode": mode, "base_url": server.url, "model": MODEL, "sandbox": SandboxChoice.OFF, **changes}
            return Settings(workspace, resume=resume, fork=fork, **cast(Any, given))

        client = Peer(lambda line: ours.take(line))
        ours = Peer(lambda line: client.take(line))
        agent = AcpAgent(ours, settings_for)
        editor = Editor(client, agent, server, folder)
        client.heard = {"session/update": editor.updated}
        client.methods = {"session/request_permission": editor.permission}
        try:
            yield editor
        finally:
            ours.hang_up()
            agent.cancel_all()
            async with asyncio.timeout(WAIT_SECONDS):
                await ours.settled()
                await agent.end()
            ours.close()
            client.close()


def held(begun: asyncio.Event, *events: bytes) -> Step:
    """A reply that begins with these events and goes no further until its reader leaves."""

    async def step(exchange: Exchange) -> None:
        if events:
            await exchange.start()
            for event in events:
                await exchange.chunk(event)
        begun.set()
        await exchange.client_closed()

    return step


def texts(content: list[Json]) -> str:
    """The texts in the content of a tool call."""
    return "\n".join(part["content"]["text"] for part in content if part["type"] == "content")
