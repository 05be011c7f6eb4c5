"""A face's conversation with another agent: what `Driver` is to one with Pool's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pool.agent.gitwork.branch import GitState, branch_from_files
from pool.config.settings import Settings
from pool.events import Event, Notice, RunFinished, StopReason
from pool.facekit.activity import time_words
from pool.facekit.agents.connection import AgentConnection, LoginWanted
from pool.facekit.agents.conversation import AgentConversation
from pool.facekit.agents.descriptions import AgentDescription, AgentError
from pool.facekit.agents.earlier import listed
from pool.facekit.clean import one_line
from pool.facekit.glance import Glance
from pool.ports import Approver
from pool.stops import STOP_TABLE

if TYPE_CHECKING:
    from pool.agent.commands import CommandResult

FAILED = STOP_TABLE[StopReason.SERVER_FAILED].exit


class AgentDriver:
    """All calls are made on the face's loop; the fields and callbacks are those of `Driver`.

    on_failed is called when the agent cannot be started, wants a login, or has gone; the face stays, so that it can be
    started again. talk is there from the beginning: what is asked before the session is open waits.
    """

    conversation = None
    lacks_server = False
    attached = False
    ended = False
    kept_session = ""

    def __init__(
        self,
        agent: AgentDescription,
        settings: Settings,
        approver: Approver,
        *,
        on_event: Callable[[Event], None],
        on_earlier: Callable[[Sequence[dict[str, Any]]], None],
        on_open: Callable[[], None],
        on_failed: Callable[[str, str], None],
    ) -> None:
        self.settings = settings
        self.agent = agent
        self.talk: AgentConversation | None = None
        self.failure_code = 0
        self._approver = approver
        self._on_event = on_event
        self._on_earlier = on_earlier
        self._on_open = on_open
        self._on_failed = on_failed
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the agent and open a session; returns at once."""
        connection = AgentConnection(self.agent, self.settings.workspace, self._gone)
        self.talk = AgentConversation(connection, self.settings.workspace, self._approver, self._on_event)
        self._task = asyncio.create_task(self._open(self.talk))

    @property
    def steers(self) -> bool:
        """Whether something can be said to a run that works."""
        return self.talk is not None and bool(self.talk.connection.abilities.steers)

    @property
    def opening(self) -> bool:
        """Whether the session is on its way."""
        return self._task is not None and not self._task.done()

    def opening_words(self, seconds: float) -> list[str]:
        """What the line above the box says while the session opens."""
        return ["starting", self.agent.title, time_words(seconds)]

    def last_words(self) -> str:
        """Nothing: the agent keeps its sessions itself."""
        return ""

    async def close(self) -> None:
        """End the agent with all it started."""
        talk, task = self.talk, self._task
        self.talk = self._task = None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if talk is not None:
            await talk.close()

    # -- what a face asks

    def glance(self) -> Glance | None:
        """What the status line says."""
        return self.talk.glance() if self.talk is not None else None

    def skills(self) -> Sequence[tuple[str, str]]:
        """None: skills are Pool's own."""
        return ()

    def command_offers(self, line: str) -> Sequence[tuple[str, str]] | None:
        """Commands that fit a line, each with a line about it: Pool's few, and the agent's own."""
        from pool.facekit.agents.commanding import offers

        return offers(line, self)

    def git_state(self) -> GitState | None:
        """The branch of the workspace, from git's own files."""
        return branch_from_files(self.settings.workspace)

    async def submit(self, prompt: str) -> RunFinished | None:
        """Let the agent work a prompt, once it is there; how it ended."""
        if self._task is not None:
            await asyncio.wait({self._task})
        return await self.talk.work(prompt) if self.talk is not None else None

    async def execute(self, line: str) -> CommandResult:
        """Do a slash command: one of the few that Pool has here, or one of the agent's own."""
        from pool.facekit.agents.commanding import execute

        return await execute(line, self)

    async def log_in(self, method: str) -> None:
        """Log in by one of the agent's methods, and open a session then. Raises `AgentError`."""
        if self.talk is None:
            return
        await self.talk.connection.log_in(method)
        self._task = asyncio.create_task(self._open(self.talk, started=True))
        await asyncio.wait({self._task})

    # -- what the agent does

    async def _open(self, talk: AgentConversation, *, started: bool = False) -> None:
        connection = talk.connection
        try:
            if not started:
                await connection.start()
            earlier = await self._earlier(connection)
            if earlier:
                talk.retell()
            await connection.open(earlier)
        except LoginWanted as error:
            self._fail(str(error), error.remedy)
            return
        except AgentError as error:
            self._fail(str(error), error.remedy)
            await connection.close()
            return
        self.failure_code = 0
        if told := talk.opened():
            self._on_earlier(told)
        title = f"{self.agent.title} {connection.version}".strip()
        talk.tell(
            Notice(
                "warning",
                f"{title} works outside Pool's sandbox: it has your own rights, and asks you only what it wants to",
            )
        )
        if earlier:
            talk.tell(Notice("info", f"going on with {self.agent.title}'s session {one_line(earlier)}"))
        self._on_open()

    async def _earlier(self, connection: AgentConnection) -> str:
        """The session to go on with, "" for a new one. Raises `AgentError`."""
        if self.settings.resume or not self.settings.continue_last:
            return self.settings.resume
        found = await listed(connection, self.settings.workspace)
        return found[0].id if found else ""

    def _gone(self, why: str) -> None:
        talk = self.talk
        if talk is None or not talk.alive:
            return
        talk.alive = False
        self._fail(talk.connection.gone_words(), "/new starts it again")

    def _fail(self, why: str, remedy: str) -> None:
        self.failure_code = FAILED
        self._on_failed(why, remedy)
