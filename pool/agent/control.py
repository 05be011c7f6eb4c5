"""What a face may do to a conversation: run prompts, steer, queue, stop, and change how the session works.

A face (the full-screen one, the line interface, an editor, a program) holds a `Conversation` and subscribes to its hub.
Nothing here prints, and nothing here knows a face; what happens is seen in events.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from pool.agent.contextreport import ContextReport, context_report
from pool.agent.factory import Session
from pool.agent.gitwork.branch import GitState
from pool.agent.gitwork.state import GitWatch
from pool.agent.guards.budgets import used_of
from pool.agent.ids import new_id
from pool.agent.limits import BUDGET_KINDS, budget_kind
from pool.agent.modelswitch import Switch
from pool.agent.price import Price
from pool.agent.promptqueue import RUN_ON_AFTER, PromptQueue
from pool.agent.serverwatch import ServerNews, ServerWatch
from pool.agent.state import Stop
from pool.agent.thinkinglevel import ThinkingChange, ThinkingLevel
from pool.config.settings import Mode, SettingsError
from pool.events import Notice, QueueChanged, RunFinished, SettingChanged, StopReason, Usage, UserCommand
from pool_tools.frozen import frozen
from pool_tools.network.grants import Grant

T = TypeVar("T")

STOPPED = Stop(StopReason.INTERRUPTED, "the user stopped it")
LEAST_TO_COMPACT = 4
"""Messages of a history that is worth compacting."""


class Busy(Exception):
    """It has to wait until the run is over. The message says what can be done instead."""


class NothingToDo(Exception):
    """There is nothing to act on yet. The message says why."""


@frozen
class BudgetLine:
    """A budget as it stands: limit 0 is none; unit completes "N of M ..."."""

    name: str
    used: float
    limit: float
    unit: str


@frozen
class Status:
    """The session at a glance. tokens is the next prompt's size, window 0 unknown; usage that of the last reply."""

    session: str
    workspace: str
    model: str
    server: str
    mode: Mode
    sandbox: str
    thinking: str
    network: str
    busy: bool
    turns: int
    tokens: int
    window: int
    usage: Usage
    queued: int
    steering: int


class Conversation:
    """One session, as a face may act on it. All of it runs on the event loop of the session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.hub = session.hub
        self._agent = session.agent
        self.findings = ""
        """A prompt that hands the last review's findings to the agent, "" for none."""
        self._working = False
        self._beside: asyncio.Task[Any] | None = None
        self._queue = PromptQueue(self._say_queue, session.queued)
        self._agent.steering.changed = self._say_queue
        self._watch = ServerWatch(lambda: session.replies.exchange.link)
        self._git = GitWatch(session.toolbox.commands)
        self._thinking = ThinkingLevel(
            self._agent.limits, session.replies, self._agent.history, session.settings.budgets
        )

    # -- prompts

    @property
    def busy(self) -> bool:
        """Whether a run works, or what is done beside runs, such as a compaction."""
        return self._working or self._beside is not None

    async def submit(self, prompt: str) -> RunFinished:
        """Work a prompt to its end, and what is queued after it; how the last of them ended. Raises `Busy`."""
        if self.busy:
            raise Busy("a run is working: steer it, queue the prompt, or stop it first")
        self._working = True
        try:
            finished = await self._run(prompt)
            while self._queue.prompts and finished.reason in RUN_ON_AFTER:
                finished = await self._run(self._queue.take())
            return finished
        finally:
            self._working = False

    async def run_queued(self) -> RunFinished | None:
        """Work what is queued, if a stop has held it; None if nothing is. Raises `Busy`."""
        if self.busy:
            raise Busy("a run is working; what is queued comes after it")
        return await self.submit(self._queue.take()) if self._queue.prompts else None

    def steer(self, text: str) -> bool:
        """Say something to the running run, at its next safe point; False, and nothing happens, if none works.

        What comes too late for the run is queued before all else.
        """
        if not self._agent.busy or not text.strip():
            return False
        self._agent.steering.add(text)
        return True

    def queue(self, text: str) -> None:
        """Work a prompt after this run, or after the next one if none works."""
        if text.strip():
            self._queue.add(text)

    def queued(self) -> tuple[str, ...]:
        """What is queued, in order."""
        return self._queue.prompts

    def edit_queued(self, index: int, text: str) -> None:
        """Replace a queued prompt by its place, from 0. Raises IndexError."""
        self._queue.edit(index, text)

    def drop_queued(self, index: int) -> str:
        """Take a queued prompt out by its place, from 0. Raises IndexError."""
        return self._queue.drop(index)

    def waiting_steering(self) -> tuple[str, ...]:
        """What was said to the run and has not reached it yet."""
        return self._agent.steering.waiting

    def drop_steering(self, index: int) -> str:
        """Take back what was said to the run and has not reached it yet, by its place from 0. Raises IndexError."""
        return self._agent.steering.drop(index)

    def stop(self, stop: Stop = STOPPED) -> bool:
        """End the run, or what is done beside runs, within a second; False if neither works.

        The content of a reply that is cut short is kept, its unfinished calls are not; other calls are answered as
        interrupted. What is queued is held.
        """
        if self._beside is not None:
            self._beside.cancel()
            return True
        self._agent.stop(stop)
        return self._agent.busy

    async def _run(self, prompt: str) -> RunFinished:
        finished = await self._agent.run(prompt, new_id())
        if late := self._agent.steering.take():
            self._queue.put_first(late)
        return finished

    def _say_queue(self) -> None:
        self.hub.emit(QueueChanged(self._queue.prompts, self._agent.steering.waiting))

    # -- the plan

    def approve_plan(self, mode: Mode | None = None, text: str = "") -> str:
        """Approve the plan that waits, and change to mode (None: the usual one); the prompt that carries it out.

        text, if any, takes the plan's place first. Raises `Busy`, and `SettingsError` where no plan waits.
        """
        if self.busy:
            raise Busy("a run is working; the plan can be approved after it")
        plan = self.session.work.plan
        mode = mode or plan.usual_mode
        if text.strip():
            plan.edit(text)
        prompt = plan.approve(mode)
        self.set_mode(mode)
        return prompt

    # -- settings

    def set_mode(self, mode: Mode) -> None:
        """Change the approval mode, from the next call on."""
        self.session.approvals.set_mode(mode)

    @property
    def thinking_level(self) -> str:
        """The level of thinking as it was named last."""
        return self._thinking.name

    def set_thinking(self, level: str, *, by_template: bool = False) -> ThinkingChange:
        """Set how much the model may think: off, low, normal, high, on, or tokens a turn.

        Where only the chat template can do it, nothing happens but that the price is told, until by_template says that
        it may. Raises `SettingsError` for a level that is none and `Busy` where the template would change in a run.
        """
        if by_template and self.busy:
            raise Busy("the chat template can be switched between two runs only")
        change = self._thinking.set(level, by_template=by_template)
        if change.applied:
            self.hub.emit(SettingChanged("thinking", self._thinking.name, change.text))
        return change

    async def switch_model(self, switch: Switch) -> str:
        """Go on with another model, which `session.models.prepare` has looked at; what was done. Raises `Busy`."""
        if self.busy:
            await self.session.models.give_up(switch)
            raise Busy("a run is working; the model can be switched after it")
        text = await self.session.models.apply(switch)
        self.session.settings = self.session.models.settings
        self._thinking = ThinkingLevel(
            self._agent.limits, self.session.replies, self._agent.history, self.session.settings.budgets
        )
        return text

    def set_budget(self, name: str, limit: float) -> None:
        """Set a budget, 0 for no limit; it holds at once. Raises `SettingsError`."""
        kind = budget_kind(name)
        if kind is None:
            names = ", ".join(k.name for k in BUDGET_KINDS)
            raise SettingsError(f"there is no budget {name!r}; there are {names}")
        try:
            self._agent.limits.set(kind, limit)
        except ValueError as error:
            raise SettingsError(str(error)) from None
        value = f"{limit:,.0f} {kind.unit}" if limit else f"no limit of {kind.unit}"
        self.hub.emit(SettingChanged("budget", f"{name} {limit:g}", value))

    def budgets(self) -> tuple[BudgetLine, ...]:
        """All budgets, with what is used of them: by the run that works, or the last one, and by the session."""
        limits = self._agent.limits
        lines: list[BudgetLine] = []
        for kind in BUDGET_KINDS:
            over = kind.session and not self._agent.busy
            used = self._total(kind.field) if over else used_of(kind, self._agent.state, limits)
            lines.append(BudgetLine(kind.name, used, limits.limit(kind), kind.unit))
        return tuple(lines)

    def _total(self, field: str) -> float:
        return float(getattr(self._agent.limits.used, field))

    async def grant_network(self, what: str, seconds: float | None = None) -> Grant:
        """Let commands reach hosts, ports of this machine or presets; for so long. Raises `RuleError`."""
        grant = await self.session.network.grant(what, seconds)
        time = f" for {seconds:,.0f} s" if seconds else ""
        self.hub.emit(SettingChanged("net", grant.text, f"commands may reach {grant.text}{time}"))
        return grant

    def revoke_network(self, what: str) -> bool:
        """Take a grant back by its text; False if there is none."""
        revoked = self.session.network.revoke(what)
        if revoked:
            self.hub.emit(SettingChanged("net", "", f"commands may no longer reach {what}"))
        return revoked

    def network_seconds_left(self, what: str) -> float | None:
        """How long a grant holds, by its text; None for one that holds until the session ends."""
        until = next((g.until for g in self.session.network.grants() if g.text == what), None)
        return None if until is None else max(0.0, until - time.monotonic())

    def reload_instructions(self) -> str:
        """Tell the model what the AGENTS.md files say now; what was done, for people. Raises `Busy`."""
        if self.busy:
            raise Busy("a run is working; reload the files after it")
        return self.session.instructions.reload(self._agent.history)

    def git_state(self) -> GitState | None:
        """Branch, changes and worktree as last seen, None outside of a repository; looked at anew in the background."""
        return self._git.state()

    def note_command(self, command: str, output: str, ended: str) -> None:
        """Keep what the user ran in a shell of their own: it is shown again when the session is gone on with."""
        self.hub.emit(UserCommand(command, output, ended))

    async def look_at_server(self) -> ServerNews | None:
        """What the server's metrics say now; None where it has none. To be asked while it works on a reply."""
        return await self._watch.look()

    # -- context

    def price_to_compact(self) -> Price:
        """What compacting would cost: tokens that the server reads anew, and the time if its speed is known."""
        return self._agent.price_to_compact()

    async def compact(self, guidance: str = "") -> bool:
        """Replace the history by an account of it; whether that helped. guidance is what to keep above all.

        Raises `Busy`, `NothingToDo` and `ServerProblem`. `stop` ends it, and nothing is changed then.
        """
        if self.busy:
            raise Busy("a run is working; it makes room by itself when it needs to")
        if len(self._agent.history.messages) < LEAST_TO_COMPACT:
            raise NothingToDo("there is nothing to compact yet")
        compacted = await self.beside(self._agent.compact(guidance))
        if compacted is None:
            self.hub.emit(Notice("info", "the compaction was stopped; nothing was changed"))
        return bool(compacted)

    async def beside(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Do what keeps the conversation busy and is no run of it; None if `stop` has ended it. Raises `Busy`."""
        if self.busy:
            work.close()
            raise Busy("a run is working; this comes after it")
        self._beside = asyncio.create_task(work)
        try:
            return await self._beside
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return None
        finally:
            self._beside = None

    def context(self) -> ContextReport:
        """What fills the window."""
        return context_report(self._agent.history, self.session.replies)

    def status(self) -> Status:
        """The session at a glance."""
        agent, session = self._agent, self.session
        labels, replies = agent.labels, session.replies
        return Status(
            session=self.hub.session,
            workspace=labels.workspace,
            model=labels.model,
            server=labels.server,
            mode=session.approvals.mode,
            sandbox=labels.sandbox,
            thinking=self._thinking.words,
            network=session.network.listed or session.settings.network,
            busy=self.busy,
            turns=agent.state.turns,
            tokens=replies.estimate(agent.history.data).tokens,
            window=replies.window,
            usage=replies.usage,
            queued=len(self._queue.prompts),
            steering=len(agent.steering.waiting),
        )
