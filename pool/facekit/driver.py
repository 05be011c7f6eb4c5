"""The conversation behind the app: opened in a task of its own, its events handed on, its runs started and stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pool.config.settings import Settings, SettingsError
from pool.events import STOP_TABLE, Event, RunFinished, StopReason
from pool.facekit.activity import opening_words
from pool.facekit.glance import Glance
from pool.ports import Approver

if TYPE_CHECKING:
    from pool.agent.commands import CommandResult
    from pool.agent.control import Conversation
    from pool.agent.gitwork.branch import GitState
    from pool.facekit.agents.descriptions import AgentDescription
    from pool.facekit.agents.driving import AgentDriver
    from pool.facekit.live.attaching import AttachedDriver
    from pool.facekit.live.place import Attachment

END_SECONDS = 5.0
"""How long a run may take to end when the app is left."""

GATHER_SECONDS = 0.01
"""How long events gather before a screen shows them: longer than it takes from a call's result to the next request."""

POLL_SECONDS = 0.02

AT_FIRST_REQUEST = ("pool.wire.httplib", "anyio._backends._asyncio")
"""What the first request would import on the loop, where keys would wait for it for 50 ms; httpx asks for the second
by name."""

GIVEN_UP = "No server had answered yet when you stopped looking."
"""Why there is no session after `Driver.give_up`."""


class Driver:
    """One conversation at a time. All calls are made on the app's loop.

    kept_session is the id of the session on disk, "" if none is kept. lacks_server says, after a failure, that it was
    the model server's absence. on_event gets every event, on_earlier the
    rows of a session that is gone on with. on_open is called when prompts can be worked, on_failed with why that cannot
    be, and with what to do about it; failure_code is the exit code that fits then.

    conversation is the session here, None until it is open; talk is what a face asks, here or in another process.
    """

    agent: AgentDescription | None = None
    """The agent, where it is another than Pool's own."""

    attached = False
    steers = True
    """Whether something can be said to a run that works."""

    ended = False

    def __init__(
        self,
        settings: Settings,
        approver: Approver,
        *,
        on_event: Callable[[Event], None],
        on_earlier: Callable[[Sequence[dict[str, Any]]], None],
        on_open: Callable[[], None],
        on_failed: Callable[[str, str], None],
        gather: float = 0.0,
    ) -> None:
        self.settings = settings
        self.conversation: Conversation | None = None
        self.kept_session = ""
        self.lacks_server = False
        self.failure_code = 0
        self._approver = approver
        self._on_event = on_event
        self._on_earlier = on_earlier
        self._on_open = on_open
        self._on_failed = on_failed
        self._gather = gather
        self._task: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()

    def start(self) -> None:
        """Open the session; returns at once."""
        self._leave = asyncio.Event()
        self.lacks_server = False
        self._task = asyncio.create_task(self._serve())

    @property
    def opening(self) -> bool:
        """Whether the session is on its way."""
        return self._task is not None and not self._task.done() and self.conversation is None

    def opening_words(self, seconds: float) -> list[str]:
        """What the line above the box says while the session opens."""
        most = self.settings.first_contact_seconds if self.settings.base_url else 0.0
        return opening_words(self.settings.base_url, seconds, most)

    async def give_up(self) -> None:
        """Open no session: nobody wants to wait for the server any longer. It is as if none had been there."""
        task, self._task = self._task, None
        if task is None or self.conversation is not None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.lacks_server = True
        self._on_failed(GIVEN_UP, "")

    @property
    def talk(self) -> Conversation | None:
        """The conversation."""
        return self.conversation

    def glance(self) -> Glance | None:
        """What the status line says; None while there is no session."""
        if (conversation := self.conversation) is None:
            return None
        status = conversation.status()
        return Glance(status.mode, status.sandbox, status.model, status.window)

    def skills(self) -> Sequence[tuple[str, str]]:
        """The skills that a prompt can name, each with a line about it; none while the session opens."""
        from pool.facekit.skillwords import skills_of

        return skills_of(self.conversation) if self.conversation is not None else ()

    def command_offers(self, line: str) -> Sequence[tuple[str, str]] | None:
        """Commands that fit a line, each with a line about it; None: those of Pool's own agent."""
        return None

    def git_state(self) -> GitState | None:
        """Branch and changes of the workspace as last seen, None outside of a repository."""
        from pool.agent.gitwork.branch import branch_from_files

        if self.conversation is not None:
            return self.conversation.git_state()
        return branch_from_files(self.settings.workspace)

    async def submit(self, prompt: str) -> RunFinished | None:
        """Work a prompt; how it ended, None if there is no session. Raises `Busy`."""
        return await self.conversation.submit(prompt) if self.conversation is not None else None

    async def execute(self, line: str) -> CommandResult:
        """Do a slash command."""
        from pool.agent.commands import CommandResult, execute

        if self.conversation is None:
            return CommandResult(("there is no session yet",), ok=False)
        return await execute(line, self.conversation)

    def let_go(self) -> None:
        """The face goes, the session stays: nobody is told of anything any more."""
        self._on_event = self._on_earlier = _nobody
        self._on_open = _nobody
        self._on_failed = _nobody

    def last_words(self) -> str:
        """What is to be said when the face has been left, in the place of how to come back; "" for nothing."""
        return ""

    async def close(self) -> None:
        """End the run if there is one, and the session with all it started."""
        self._leave.set()
        task, self._task = self._task, None
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    async def _serve(self) -> None:
        # Imported here and in a thread: the first paint does not wait for the agent.
        opened = await asyncio.to_thread(_imports)
        try:
            async with opened.session(self.settings, self._approver) as session:
                self.conversation = opened.conversation(session)
                self.kept_session = "" if self.settings.ephemeral else session.hub.session
                if resumes(self.settings):
                    self._on_earlier(await asyncio.to_thread(earlier_rows, session.hub.session))
                pump = asyncio.create_task(self._pump(session.hub.subscribe(gather=self._gather)))
                self._on_open()
                try:
                    await self._leave.wait()
                    await self._end_run(self.conversation)
                finally:
                    session.hub.close()
                    await pump
        except opened.failures as error:
            self.lacks_server = isinstance(error, opened.no_server)
            is_usage = isinstance(error, SettingsError)
            self.failure_code = STOP_TABLE[StopReason.USAGE_ERROR if is_usage else StopReason.SERVER_FAILED].exit
            self._on_failed(str(error), str(getattr(error, "remedy", "")))
        except Exception as error:
            self.failure_code = STOP_TABLE[StopReason.INTERNAL_ERROR].exit
            self._on_failed(f"Pool failed inside: {error!r}", "this is a defect of Pool; please report it")
        finally:
            self.conversation = None

    async def _pump(self, events: AsyncIterator[Event]) -> None:
        async for event in events:
            self._on_event(event)

    async def _end_run(self, conversation: Conversation) -> None:
        """Stop what works and wait for its end, so that the session closes whole."""
        conversation.stop()
        until = time.monotonic() + END_SECONDS
        while conversation.busy and time.monotonic() < until:
            await asyncio.sleep(POLL_SECONDS)


def driver_for(
    attachment: Attachment | AgentDescription | None,
    settings: Settings,
    approver: Approver,
    *,
    on_event: Callable[[Event], None],
    on_earlier: Callable[[Sequence[dict[str, Any]]], None],
    on_open: Callable[[], None],
    on_failed: Callable[[str, str], None],
    gather: float = GATHER_SECONDS,
) -> Driver | AttachedDriver | AgentDriver:
    """The driver of a session here, of a live run, or of another agent; the rest is as in `Driver`.

    gather: seconds for which events of a session here gather before they are shown.
    """
    kind = partial(Driver, gather=gather)
    if attachment is not None:
        from pool.facekit.agents.descriptions import AgentDescription

        if isinstance(attachment, AgentDescription):
            from pool.facekit.agents.driving import AgentDriver

            kind = partial(AgentDriver, attachment)
        else:
            from pool.facekit.live.attaching import AttachedDriver

            kind = partial(AttachedDriver, attachment)
    return kind(settings, approver, on_event=on_event, on_earlier=on_earlier, on_open=on_open, on_failed=on_failed)


def _nobody(*what: object) -> None:
    """What is told to a face that is gone."""


class _Imported:
    """What opening a session needs, imported late."""

    def __init__(self) -> None:
        from pool.agent.control import Conversation
        from pool.agent.factory import open_session
        from pool.agent.server import NoServer
        from pool.wire.errors import ServerProblem

        for name in AT_FIRST_REQUEST:
            with suppress(ImportError):
                import_module(name)
        self.session = open_session
        self.conversation = Conversation
        self.failures = (SettingsError, ServerProblem)
        self.no_server = (NoServer, ServerProblem)


def _imports() -> _Imported:
    return _Imported()


def resumes(settings: Settings) -> bool:
    """Whether the session has a past."""
    return bool(settings.resume or settings.continue_last or settings.fork)


def earlier_rows(session: str) -> Sequence[dict[str, Any]]:
    """What the log of a session holds, without what was rewound (blocking: for a thread)."""
    from pool.sessions.rewinds import effective

    return effective(log_rows(session))


def log_rows(session: str) -> Sequence[dict[str, Any]]:
    """All that the log of a session holds, nothing if it cannot be read (blocking: for a thread)."""
    from pool.sessions.log import read_rows
    from pool.sessions.store import NoSuchSession, by_id, sessions_folder

    try:
        data = by_id(sessions_folder(), session).path.read_bytes()
    except (NoSuchSession, OSError):
        return ()
    return read_rows(data)[0]
