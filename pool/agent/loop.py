"""The agent loop: build the request, stream the reply, run its calls, append, repeat.

Everything that happens leaves as events through the hub. However a run ends, the history stays valid and the last
event says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pool.agent.calls import CallRunner, Outcome, PreparedCall
from pool.agent.compaction import AT_SHARE, Compactor
from pool.agent.filestates import FileStates
from pool.agent.guards import Guard
from pool.agent.history import INTERRUPTED, History
from pool.agent.hub import EventHub
from pool.agent.state import Nudge, RunState, Steer, Stop, Verdict
from pool.agent.streaming import LastWord, ReplyStream
from pool.config.settings import Budgets
from pool.events import (
    STOP_TABLE,
    GuardFired,
    HeadSet,
    Notice,
    RunFinished,
    RunStarted,
    StopReason,
    TurnFinished,
)
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import Ending, Reading

_GAVE_UP = re.compile(
    r"[\W_]*(?:(?:sorry|unfortunately)\W+)?(?:could not do it|できませんでした"
    r"|i (?:could not|couldn't|cannot|can't|was unable to|am unable to)"
    r" (?:do|finish|complete|solve|fix|mend|find) (?:it|this|that|the))",
    re.IGNORECASE,
)
"""How a final answer begins when the agent could not do the task; the system prompt asks for "Could not do it:"."""


CLOSED_BY_MODEL = frozenset(
    {
        StopReason.MAX_TURNS,
        StopReason.MAX_TOKENS,
        StopReason.MAX_REASONING,
        StopReason.LOOP,
        StopReason.NO_PROGRESS,
    }
)
"""Stops after which the model may close with an account of what is done, in one last reply without tools."""

CLOSING_TOKENS = 800
CLOSING_SECONDS = 120.0

CLOCK_SECONDS = 0.05
"""The run's clock is looked at no more often than this; while an answer is waited for, it stands still."""

NOTHING_TO_COMPACT = 2
"""Messages of a history that is only the system prompt and a first prompt."""

USELESS_COMPACTIONS = 2
"""After so many compactions in a row that did not help the run ends."""


class OutOfRoom(Exception):
    """The history does not fit the window, and compacting it did not help. The message names both numbers."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What `RunStarted` says about the surroundings. mode is asked for at each run's start."""

    workspace: str
    model: str
    server: str
    mode: Callable[[], str]
    sandbox: str


class Agent:
    """One conversation: a history, a model, tools and guards. One run at a time."""

    def __init__(
        self,
        *,
        hub: EventHub,
        history: History,
        replies: ReplyStream,
        calls: CallRunner,
        compactor: Compactor,
        guards: Callable[[], Sequence[Guard]],
        budgets: Budgets,
        labels: Labels,
        auto_compact: bool = True,
        head: str = "",
    ) -> None:
        """auto_compact: make room unasked; without it a run ends where its history no longer fits.

        head is the requests' head as the session recorded it last, "" for a new session.
        """
        self.hub = hub
        self.history = history
        self._replies = replies
        self._calls = calls
        self._make_guards = guards
        self._budgets = budgets
        self._labels = labels
        self._auto_compact = auto_compact
        self._compactor = compactor
        self._useless, self._compacted, self._helped = 0, 0, False
        self._waited_before = 0.0
        self._steer = Steer()
        self._head = head
        self._guards: Sequence[Guard] = ()
        self._state = RunState("")
        self._task: asyncio.Task[Stop] | None = None
        self._stop_asked: Stop | None = None

    def stop(self, stop: Stop) -> None:
        """Ask the running run to end with this reason; it does so within a second. The first reason counts."""
        if self._task is not None and self._stop_asked is None:
            self._stop_asked = stop
            self._task.cancel()

    async def run(self, prompt: str, run_id: str) -> RunFinished:
        """Work a prompt to its end. Never raises for what a server, a model or a tool does."""
        self.hub.run, self.hub.turn = run_id, 0
        self._state = RunState(prompt, files=FileStates(self._labels.workspace))
        self._guards = self._make_guards()
        self._useless, self._compacted, self._helped = 0, 0, False
        self._stop_asked = None
        self._waited_before = self._calls.waited_seconds
        labels = self._labels
        self.hub.emit(RunStarted(prompt, labels.workspace, labels.model, labels.server, labels.mode(), labels.sandbox))
        self._say_head()
        self.history.add_user(prompt)
        self._task = asyncio.create_task(self._work_and_close())
        limit = self._budgets.seconds
        timer = asyncio.create_task(self._watch_time(limit)) if limit else None
        try:
            stop = await self._outcome(self._task)
        finally:
            self._pause_clock()
            self._task = None
            if timer is not None:
                timer.cancel()
        self.history.close_calls(INTERRUPTED)
        return self._finish(stop)

    async def compact(self, guidance: str = "") -> bool:
        """Compact the history between two runs; whether it became clearly smaller. Raises `ServerProblem`."""
        return await self._compactor.compact(self.history, self._state, cut_first=False, guidance=guidance)

    def _say_head(self) -> None:
        """Record the requests' head when it is new; a change within a session costs the server's cache, and is said."""
        head, before = self._replies.head_json, self._head
        if head == before:
            return
        self._head = head
        self.hub.emit(HeadSet(head, "the session goes on with other settings" if before else "session start"))
        if before:
            tokens = self._replies.estimate(self.history.data).tokens
            text = f"model, tools or thinking differ from before: about {tokens:,} tokens have to be read again"
            self.hub.emit(Notice("info", text))

    async def _outcome(self, task: asyncio.Task[Stop]) -> Stop:
        try:
            return await task
        except asyncio.CancelledError:
            if self._stop_asked is None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task
                raise
            return self._stop_asked
        except ServerProblem as problem:
            self.hub.emit(Notice("error", str(problem), problem.remedy))
            return Stop(StopReason.SERVER_FAILED, str(problem))
        except OutOfRoom as error:
            self.hub.emit(Notice("error", str(error), self._replies.window_remedy))
            return Stop(StopReason.CONTEXT_EXHAUSTED, str(error))
        except Exception as error:
            self.hub.emit(Notice("error", f"Pool failed inside: {error!r}", "please report this with --trace FILE"))
            return Stop(StopReason.INTERNAL_ERROR, repr(error))

    async def _watch_time(self, limit: float) -> None:
        """Stop the run at its limit also in the middle of a reply or a call; approvals stop the clock."""
        from pool.agent.guards.budgets import out_of_time

        while (left := self._seconds_left(limit)) > 0:
            await asyncio.sleep(max(left, CLOCK_SECONDS))
        self.stop(out_of_time(limit))

    def _seconds_left(self, limit: float) -> float:
        self._pause_clock()
        return limit - self._state.seconds

    def _pause_clock(self) -> None:
        """Take what was waited for answers, until now, off the run's seconds."""
        self._state.paused = self._calls.waited_seconds - self._waited_before

    async def _work_and_close(self) -> Stop:
        stop = await self._work()
        if stop.reason in CLOSED_BY_MODEL:
            await self._close(stop)
        return stop

    async def _close(self, stop: Stop) -> None:
        """Let the model say what is done and what is not. Whatever goes wrong here, the stop stands."""
        self.history.add_user(
            f"[Pool] The run ends here: {stop.detail}. Say in a few sentences what is done, what is not, and what you "
            "did not verify. No tools."
        )
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                reading = await self._replies.last_word(
                    self.history, self.history.data, LastWord(CLOSING_TOKENS, show=True)
                )
        except (ServerProblem, TimeoutError):
            return
        self._state.usage += self._replies.usage
        text = reading.content.strip()
        if text and reading.ending in (Ending.WHOLE, Ending.LENGTH):
            self.history.add_assistant(reading, [])
            self._state.answer = text

    async def _work(self) -> Stop:
        state = self._state
        while True:
            if (verdict := self._ask(lambda g: g.before_turn(state))) and isinstance(verdict, Stop):
                return verdict
            if self._auto_compact and self._compactor.due(self.history):
                await self._make_room(cut_first=False)
            state.turns += 1
            self.hub.turn = state.turns
            reading = await self._reply()
            if reading.ending is Ending.WINDOW:
                await self._make_room(cut_first=False)
                continue
            stop = await self._act_on(reading)
            if stop is not None:
                return stop

    async def _reply(self) -> Reading:
        """The next reply; where the server refuses the prompt as too long, once more after making room."""
        first = self._state.turns == 1
        while True:
            try:
                steer, self._steer = self._steer, Steer()
                reading = await self._replies.reply(self.history, first_turn=first, steer=steer)
            except ServerProblem as problem:
                if problem.kind is not ProblemKind.OVERFLOW:
                    raise
                await self._make_room(cut_first=True)
                continue
            self._state.usage += self._replies.usage
            return reading

    async def _make_room(self, *, cut_first: bool) -> None:
        """Prune or compact the history. Raises `OutOfRoom` after `USELESS_COMPACTIONS` that did not help."""
        tokens, window = self._replies.estimate(self.history.data).tokens, self._replies.window
        if not self._auto_compact:
            raise OutOfRoom(f"about {tokens:,} tokens do not fit the window of {window:,}; compacting is switched off")
        if len(self.history.messages) <= NOTHING_TO_COMPACT:
            raise OutOfRoom(f"the prompt alone takes about {tokens:,} tokens; the window has {window:,}")
        if self._compactor.prune(self.history):
            return
        # The server refuses it again at once, or counts it as full again: it did not help, whatever the estimate said.
        soon = 0 < self._compacted >= self._state.turns - 1
        full = self._replies.usage.prompt >= window * AT_SHARE or self._compacted == self._state.turns
        self._useless += soon and full and self._helped
        if self._useless >= USELESS_COMPACTIONS:
            tokens = max(tokens, self._replies.usage.prompt)
            raise OutOfRoom(f"about {tokens:,} tokens do not fit the window of {window:,}, and compacting did not help")
        self._helped = await self._compactor.compact(self.history, self._state, cut_first=cut_first)
        self._compacted = self._state.turns
        self._state.usage += self._replies.usage
        if not self._helped:
            self._useless += 1
        elif not (soon and full):
            self._useless = 0

    async def _act_on(self, reading: Reading) -> Stop | None:
        """Take a reply into the history, do what it asks, and say whether the run is over."""
        state = self._state
        verdict = self._ask(lambda g: g.after_reply(state, reading))
        whole = reading.ending is Ending.WHOLE
        prepared = self._calls.prepare(reading, self.history.unique_id) if whole else []
        self.history.add_assistant(reading, [p.call for p in prepared])
        outcomes, stop = await self._run_calls(prepared)
        self.hub.emit(TurnFinished(reading.finish, reading.ending.value, len(prepared), reading.repairs))
        if verdict is None and outcomes:
            verdict = stop or self._ask(lambda g: g.after_calls(state, outcomes))
        match verdict:
            case Stop():
                return verdict
            case Nudge(text=text):
                self.history.add_user(text)
                self._steer = verdict.steer
                return None
            case None:
                pass
        if outcomes:
            return None
        state.answer = reading.content.strip()
        return self._completed()

    async def _run_calls(self, prepared: Sequence[PreparedCall]) -> tuple[list[Outcome], Stop | None]:
        """Run calls and take their results into the history, in call order, however the running ends."""
        if not prepared:
            return [], None
        stop: Stop | None = None
        try:
            outcomes = await self._calls.run(prepared, self._gate)
        finally:
            self._pause_clock()
            for call in prepared:
                outcome = self._calls.finished.get(call.call.id)
                if outcome is None:
                    self.history.add_result(call.call.id, INTERRUPTED)
                    continue
                self._note(outcome)
                notes, stopped = self._notes_on(outcome)
                stop = stop or stopped
                self.history.add_result(call.call.id, "\n\n".join([outcome.text, *notes]))
        return outcomes, stop

    def _gate(self, name: str, args: Mapping[str, Any]) -> str:
        for guard in self._guards:
            if blocked := guard.before_call(self._state, name, args):
                self.hub.emit(GuardFired(guard.name, "block", blocked))
                return blocked
        return ""

    def _notes_on(self, outcome: Outcome) -> tuple[list[str], Stop | None]:
        """What the guards add to a call's result, and whether one of them ends the run."""
        notes: list[str] = []
        stop: Stop | None = None
        for guard in self._guards:
            said = guard.after_call(self._state, outcome)
            if said is None:
                continue
            self.hub.emit(GuardFired(guard.name, "stop" if said.stop else "note", said.detail))
            notes += [said.text] if said.text else []
            stop = stop or said.stop
        return notes, stop

    def _note(self, outcome: Outcome) -> None:
        """Keep the run's books: changed files, test runs, denials."""
        state = self._state
        command = outcome.args.get("command")
        if isinstance(command, str) and outcome.status in ("ok", "failed"):
            state.ledger.command(command, outcome.text, outcome.data.get("exit_status"))
        state.ledger.saw(outcome.text)
        if outcome.changes:
            state.ledger.edited(change.path for change in outcome.changes)
        state.came_back = tuple(c.path for c in outcome.changes if state.files.came_back(c.path))
        for change in outcome.changes:
            self._state.changed(change)
        target = (outcome.name, str(outcome.args.get("path") or outcome.args.get("command") or ""))
        if outcome.status == "denied":
            self._state.denied[target] = outcome.text
        elif outcome.status == "ok":
            self._state.denied.pop(target, None)

    def _completed(self) -> Stop:
        state = self._state
        if state.denied:
            return Stop(StopReason.DENIED, next(iter(state.denied.values())))
        if state.unverified:
            return Stop(StopReason.UNVERIFIED, state.unverified)
        if _GAVE_UP.match(state.answer):
            return Stop(StopReason.GAVE_UP, "the agent says that it could not do it")
        return Stop(StopReason.COMPLETED)

    def _ask(self, hook: Callable[[Guard], Verdict | None]) -> Verdict | None:
        for guard in self._guards:
            verdict = hook(guard)
            if verdict is not None:
                action = "stop" if isinstance(verdict, Stop) else "nudge"
                self.hub.emit(GuardFired(guard.name, action, verdict.detail))
                return verdict
        return None

    def _finish(self, stop: Stop) -> RunFinished:
        state = self._state
        finished = RunFinished(
            reason=stop.reason,
            exit_code=STOP_TABLE[stop.reason].exit + (stop.number if stop.reason is StopReason.SIGNALLED else 0),
            detail=stop.detail,
            answer=state.answer,
            turns=state.turns,
            seconds=state.seconds,
            usage=state.usage,
            changes=tuple(state.changes.values()),
            signal=stop.number,
        )
        self.hub.emit(finished)
        return finished
