"""A face's conversation that works in another process: what `Driver` is to one that works here.

What happened before the face came is handed on first: an earlier process' part of the session from its log, the rest
as events. Approvals and questions that wait go to the person; the first answer counts, and takes them from all faces.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pool.agent.gitwork.branch import GitState, branch_from_files
from pool.config.settings import Settings
from pool.events import Envelope, Event, Notice, RunFinished, RunStarted, StopReason
from pool.facekit.activity import opening_words
from pool.facekit.driver import log_rows
from pool.facekit.glance import Glance
from pool.facekit.live.lines import LinkProblem
from pool.facekit.live.place import Attachment
from pool.facekit.live.remote import RemoteConversation
from pool.ports import ApprovalRequest, Approver, Question, Questioner
from pool.sessions.store import short_id
from pool.stops import STOP_TABLE

if TYPE_CHECKING:
    from pool.agent.commands import CommandResult

LOST = STOP_TABLE[StopReason.INTERNAL_ERROR].exit


class AttachedDriver:
    """A live run. All calls are made on the face's loop; the fields and callbacks are those of `Driver`.

    on_failed is called when the run cannot be reached, and when its process has ended: failure_code is its exit code.
    """

    conversation = None
    lacks_server = False
    attached = True
    steers = True
    agent = None

    def __init__(
        self,
        attachment: Attachment,
        settings: Settings,
        approver: Approver,
        *,
        on_event: Callable[[Event], None],
        on_earlier: Callable[[Sequence[dict[str, Any]]], None],
        on_open: Callable[[], None],
        on_failed: Callable[[str, str], None],
    ) -> None:
        """approver is asked what waits, if it is a person: who cannot be put questions leaves it to others."""
        self.settings = settings
        self.talk: RemoteConversation | None = None
        self.kept_session = "" if attachment.record.ephemeral else attachment.record.session
        self.failure_code = 0
        self.ended = False
        self._record = attachment.record
        self._only_new = attachment.only_new
        self._approver = approver if isinstance(approver, Questioner) else None
        self._on_event = on_event
        self._on_earlier = on_earlier
        self._on_open = on_open
        self._on_failed = on_failed
        self._task: asyncio.Task[None] | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._finishing: list[asyncio.Future[RunFinished | None]] = []
        self._before: list[Event] = []
        self._goes_on = False

    def start(self) -> None:
        """Attach; returns at once."""
        self._task = asyncio.create_task(self._serve())

    @property
    def opening(self) -> bool:
        """Whether what happened before is on its way."""
        return self._task is not None and not self._task.done() and self.talk is None

    def opening_words(self, seconds: float) -> list[str]:
        """What the line above the box says while the run is attached to."""
        return opening_words(self.settings.base_url, seconds)

    async def close(self) -> None:
        """Let go of the run, which goes on."""
        talk, task = self.talk, self._task
        self._goes_on = talk is not None and talk.busy and not self.ended
        self.talk = self._task = None
        for finished in self._finishing:
            self._settle(finished, None)
        if talk is not None:
            await talk.detach()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def last_words(self) -> str:
        """How to come back to a run that goes on without the face, "" if none does."""
        name = short_id(self._record.session)
        return f"The run goes on: pool attach {name} shows it, pool stop {name} ends it" if self._goes_on else ""

    # -- what a face asks

    def glance(self) -> Glance | None:
        """What the status line says; None while nothing is known."""
        return self.talk.glance() if self.talk is not None else None

    def skills(self) -> Sequence[tuple[str, str]]:
        """The skills that a prompt can name, as the run had them when it was attached to."""
        return self.talk.status.skills if self.talk is not None else ()

    def command_offers(self, line: str) -> Sequence[tuple[str, str]] | None:
        """Commands that fit a line, each with a line about it; None: those of Pool's own agent."""
        return None

    def git_state(self) -> GitState | None:
        """The branch of the run's folder, from git's own files."""
        return branch_from_files(self.settings.workspace)

    async def submit(self, prompt: str) -> RunFinished | None:
        """Let the run's process work a prompt; how it ended, None if the process or the face went before."""
        if self.talk is None:
            return None
        finished: asyncio.Future[RunFinished | None] = asyncio.get_running_loop().create_future()
        self._finishing.append(finished)
        self.talk.submit(prompt)
        return await finished

    async def execute(self, line: str) -> CommandResult:
        """Do a slash command in the run's process."""
        from pool.facekit.live.results import ENDED, CommandResult

        return await self.talk.command(line) if self.talk is not None else CommandResult((ENDED,), ok=False)

    # -- what the run does

    async def _serve(self) -> None:
        try:
            run = await RemoteConversation.attach(self._record)
        except LinkProblem as problem:
            self._lost(str(problem), LOST)
            return
        watching = asyncio.create_task(self._watch(run))
        try:
            await self._show(run)
        except LinkProblem as problem:
            self._lost(str(problem), LOST)
        else:
            self._end(run)
        finally:
            watching.cancel()
            for task in (watching, *self._asking.values()):
                task.cancel()
            await run.detach()

    async def _show(self, run: RemoteConversation) -> None:
        """Hand on events. Those before `caught_up` come whole, then the conversation is open."""
        first = True
        async for event in run.events():
            if first:
                first = False
                await self._tell_earlier(event.envelope.seq)
            if self._only_new and not run.caught_up:
                self._before.append(event)
                continue
            if run.caught_up:
                self._open(run)
            self._take(event)

    async def _tell_earlier(self, first: int) -> None:
        """Hand on what an earlier process worked in this session."""
        if self._only_new:
            return
        from pool.sessions.rewinds import effective

        rows = await asyncio.to_thread(log_rows, self._record.session)
        earlier = effective(row for row in rows if isinstance(seq := row.get("seq"), int) and seq < first)
        if any(row.get("type") == RunStarted.type for row in earlier):
            self._on_earlier(earlier)

    def _open(self, run: RemoteConversation) -> None:
        """What happened before is told: the face may act now. Of what was left out, a run that works is told."""
        if self.talk is not None or self._task is None:
            return
        if run.busy and (starts := [event for event in self._before if isinstance(event.body, RunStarted)]):
            self._on_event(starts[-1])
        self._before.clear()
        self.talk = run
        self._on_open()

    def _take(self, event: Event) -> None:
        self._on_event(event)
        if isinstance(event.body, RunFinished) and not event.envelope.agent and self._finishing:
            self._settle(self._finishing.pop(0), event.body)

    async def _watch(self, run: RemoteConversation) -> None:
        """Put what waits for an answer to the person, and say what the run did not take."""
        while True:
            await run.changed.wait()
            run.changed.clear()
            if run.caught_up:
                self._open(run)
            while run.refused:
                self._remark(run.refused.pop(0))
            if run.caught_up and self._approver is not None:
                self._ask(run, self._approver)

    def _ask(self, run: RemoteConversation, approver: Approver) -> None:
        waiting = {one.call_id: one for one in run.pending()} | {one.id: one for one in run.pending_questions()}
        for id_ in self._asking.keys() - waiting.keys():
            self._asking.pop(id_).cancel()
        for id_ in waiting.keys() - self._asking.keys():
            self._asking[id_] = asyncio.create_task(self._answer(run, approver, waiting[id_]))

    async def _answer(self, run: RemoteConversation, approver: Approver, asked: ApprovalRequest | Question) -> None:
        match asked:
            case ApprovalRequest():
                run.answer(asked.call_id, await approver.ask(asked))
            case Question() if isinstance(approver, Questioner):
                run.answer_question(asked.id, await approver.question(asked))
            case _:
                pass

    @staticmethod
    def _settle(finished: asyncio.Future[RunFinished | None], how: RunFinished | None) -> None:
        if not finished.done():
            finished.set_result(how)

    def _remark(self, text: str) -> None:
        session = self._record.session
        envelope = Envelope(session, "", 0, -1, time.time(), time.monotonic(), "", "")
        self._on_event(Event(envelope, Notice("warning", f"not done: {text}")))

    def _end(self, run: RemoteConversation) -> None:
        """The run's process has ended, unless it was the face that left."""
        if self._task is None:
            return
        if run.exit_code is None:
            self._lost("the run's process is gone", LOST)
        else:
            self._lost(f"the run's process has ended, with exit code {run.exit_code}", run.exit_code)

    def _lost(self, why: str, code: int) -> None:
        self.talk, self.ended, self.failure_code = None, True, code
        for finished in self._finishing:
            self._settle(finished, None)
        self._on_failed(why, "")
