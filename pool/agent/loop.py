"""The agent loop: build the request, stream the reply, run its calls, append, repeat.

Everything that happens leaves as events through the hub. However a run ends, the history stays valid and the last
event says why.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pool.agent.calls import CallRunner, Outcome, PreparedCall
from pool.agent.closing import CLOSED_BY_MODEL, completed, last_words
from pool.agent.filestates import FileStates
from pool.agent.goingon import LET_GO_ON, GoingOn
from pool.agent.guards import Guard
from pool.agent.guards.budgets import out_of_time, totals_of
from pool.agent.guards.thinking import CUT_FOR_USER
from pool.agent.history import INTERRUPTED, History
from pool.agent.hub import EventHub
from pool.agent.limits import Limits
from pool.agent.price import Price
from pool.agent.room import OutOfRoom, RoomMaker
from pool.agent.runhooks import RunHooks
from pool.agent.state import Nudge, RunState, Steer, Stop, Verdict
from pool.agent.steering import Steering
from pool.agent.streaming import ReplyStream
from pool.config.settings import Mode
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
from pool.extend.agentsmd import NAME
from pool.sessions.totals import Totals
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import Ending, Reading
from pool_tools.api import Step, ToolSpec
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.agent.hooking import SessionHooks

CLOCK_SECONDS = 0.05
"""The run's clock is looked at no more often than this; while an answer is waited for, it stands still."""

CUT_HEAD = f"shorten the {NAME} files (--no-agents-md leaves them out), or give the server a larger window"

INSTALLED_ANEW = "if Pool or a package of it was installed anew meanwhile, start pool again; else install it again"

CLOCK_LOOK_SECONDS = 1.0
"""It is looked at this often at least, since a face may change the limit."""


@frozen
class Labels:
    """What `RunStarted` says about the surroundings; mode gives the approval mode as it is now."""

    workspace: str
    model: str
    server: str
    mode: Callable[[], str]
    sandbox: str


class Agent:
    """One conversation: a history, a model, tools and guards. One run at a time.

    worded gives a prompt as it goes to the model. on_prompt is called when a run has begun, before its prompt enters
    the history; what it gives is added to that. on_turn is called before each turn.
    before_end is called with how a run ended, before that is said.
    """

    def __init__(
        self,
        *,
        hub: EventHub,
        history: History,
        replies: ReplyStream,
        calls: CallRunner,
        room: RoomMaker,
        steering: Steering,
        going_on: GoingOn,
        guards: Callable[[], Sequence[Guard]],
        limits: Limits,
        labels: Labels,
        head: str = "",
        hooks: SessionHooks | None = None,
    ) -> None:
        """head is the requests' head as the session recorded it last, "" for a new session."""
        self.hub = hub
        self.history = history
        self.steering = steering
        self.limits = limits
        self.labels = labels
        self.on_prompt: Callable[[], str] = str
        self.on_turn: Callable[[], object] = lambda: None
        self.worded: Callable[[str], str] = str
        self.before_end: Callable[[RunFinished], object] = lambda finished: None
        self._replies = replies
        self._calls = calls
        self._room = room
        self._going_on = going_on
        self._make_guards = guards
        self._waited_before = 0.0
        self._steer = Steer()
        self._head = head
        self._hooks = RunHooks(hooks, history, steering, hub)
        self._guards: Sequence[Guard] = ()
        self._state = RunState("")
        self._task: asyncio.Task[Stop] | None = None
        self._stop_asked: Stop | None = None

    @property
    def busy(self) -> bool:
        """Whether a run is working."""
        return self._task is not None

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """What the model can call, in the order in which it sees it."""
        return {name: tool.spec for name, tool in self._calls.tools.items()}

    @property
    def state(self) -> RunState:
        """The books of the run that works, else of the last one."""
        self._pause_clock()
        return self._state

    def stop(self, stop: Stop) -> None:
        """Ask the running run to end with this reason; it does so within a second. The first reason counts."""
        if self._task is not None and self._stop_asked is None:
            self._stop_asked = stop
            self._task.cancel()

    async def run(self, prompt: str, run_id: str) -> RunFinished:
        """Work a prompt to its end. Never raises for what a server, a model or a tool does."""
        self.hub.run, self.hub.turn = run_id, 0
        self._state = RunState(prompt, files=FileStates(self.labels.workspace))
        self._guards = self._make_guards()
        self._room.begin()
        self._stop_asked = None
        self._waited_before = self._calls.waited_seconds
        labels = self.labels
        self.hub.emit(RunStarted(prompt, labels.workspace, labels.model, labels.server, labels.mode(), labels.sandbox))
        self._say_head()
        prompt = self._state.prompt = self.worded(prompt)
        self._hooks.begin()
        more, waits = self.on_prompt(), self._hooks.look_at_prompts
        if not waits:
            self.history.add_user("\n\n".join(text for text in (prompt, more) if text))
        self._task = asyncio.create_task(self._take_and_work(more) if waits else self._work_and_close())
        timer = asyncio.create_task(self._watch_time())
        try:
            stop = await self._outcome(self._task)
        finally:
            self._pause_clock()
            self._task = None
            timer.cancel()
        self.history.close_calls(INTERRUPTED)
        return self._finish(stop)

    async def compact(self, guidance: str = "") -> bool:
        """Compact the history between two runs; whether it became clearly smaller. Raises `ServerProblem`."""
        helped = await self._room.compact(self._state, guidance)
        self.limits.used += Totals(tokens=self._replies.usage.total)
        return helped

    async def confirm(self, number: str, name: str, step: Step) -> str:
        """As `CallRunner.confirm`."""
        return await self._calls.confirm(number, name, step)

    def price_to_compact(self) -> Price:
        """What compacting now would cost."""
        return self._room.price_to_compact()

    def head_changed(self, why: str) -> None:
        """Record the requests' head at once, since the history was written for it. Nothing before the first prompt."""
        if self._head and self._head != self._replies.head_json:
            self._head = self._replies.head_json
            self.hub.emit(HeadSet(self._head, why))

    def _say_head(self) -> None:
        """Record the requests' head when it is new; a change within a session costs the server's cache, and is said."""
        head, before = self._replies.head_json, self._head
        if head == before:
            return
        self._head = head
        self.hub.emit(HeadSet(head, "the session goes on with other settings" if before else "session start"))
        if before:
            price = self._replies.price(self._replies.estimate(self.history.data).tokens)
            self.hub.emit(Notice("info", f"model, tools or thinking differ from before: {price.words}"))

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
        except ImportError as error:
            self.hub.emit(Notice("error", f"a part of Pool cannot be loaded: {error}", INSTALLED_ANEW))
            return Stop(StopReason.INTERNAL_ERROR, str(error))
        except Exception as error:
            self.hub.emit(Notice("error", f"Pool failed inside: {error!r}", "please report this with --trace FILE"))
            return Stop(StopReason.INTERNAL_ERROR, repr(error))

    # -- time

    async def _watch_time(self) -> None:
        """Stop the run at its limit also in the middle of a reply or a call; approvals stop the clock."""
        while (left := self._seconds_left()) > 0:
            await asyncio.sleep(min(max(left, CLOCK_SECONDS), CLOCK_LOOK_SECONDS))
        self.stop(out_of_time(self.limits, self._state))

    def _seconds_left(self) -> float:
        self._pause_clock()
        return self.limits.seconds_left(self._state.seconds)

    def _pause_clock(self) -> None:
        """Take what was waited for answers, until now, off the run's seconds."""
        self._state.paused = self._calls.waited_seconds - self._waited_before

    # -- turns

    async def _take_and_work(self, more: str) -> Stop:
        """As `_work_and_close`, once the hooks have seen the prompt; more comes behind it."""
        return await self._hooks.prompt(self._state, more) or await self._work_and_close()

    async def _work_and_close(self) -> Stop:
        stop = await self._work()
        if stop.reason in CLOSED_BY_MODEL and not stop.natural:
            await last_words(self._replies, self.history, self._state, stop)
        if not stop.natural:
            await self._hooks.cut_short(self._state, stop)
        return stop

    async def _work(self) -> Stop:
        state = self._state
        while True:
            self.on_turn()
            verdict = self._ask(lambda g: g.before_turn(state))
            if isinstance(verdict, Stop):
                if not await self._goes_on(verdict):
                    return verdict
                continue
            if head := self._room.look_at_head():
                self.hub.emit(Notice("warning", head, CUT_HEAD))
            if self._room.due:
                await self._room.make(state, cut_first=False)
            await self._hooks.steering()
            self.steering.deliver()
            state.turns += 1
            self.hub.turn = state.turns
            reading = await self._reply()
            if reading.ending is Ending.WINDOW:
                await self._room.make(state, cut_first=False)
                continue
            stop = await self._act_on(reading)
            if stop is not None and stop.natural:
                stop = await self._hooks.at_end(state, stop)
            if stop is not None and not await self._goes_on(stop):
                return stop

    async def _goes_on(self, stop: Stop) -> bool:
        """Whether a run goes on that was to stop: the user has said something, or lets it."""
        if stop.natural and self.steering.wants():
            self._state.answer = ""
            return True
        if not await self._going_on.allowed(stop):
            return False
        for guard in self._guards:
            guard.go_on(self._state)
        self.history.add_user(LET_GO_ON)
        return True

    async def _reply(self) -> Reading:
        """The next reply; where the server refuses the prompt as too long, once more after making room."""
        roomy = self._state.turns == 1 or self.labels.mode() == Mode.PLAN.value
        while True:
            steer, self._steer = self._steer, Steer()
            try:
                reading = await self._replies.reply(self.history, roomy=roomy, steer=steer)
            except ServerProblem as problem:
                if problem.kind is not ProblemKind.OVERFLOW:
                    raise
                await self._room.make(self._state, cut_first=True)
                continue
            except asyncio.CancelledError:
                self._state.usage += self._replies.cut_usage
                self._keep_content()
                raise
            self._state.usage += self._replies.usage
            return reading

    def _keep_content(self) -> None:
        """Of a reply that was interrupted its content is kept; reasoning alone and unfinished calls are dropped."""
        reading = self._replies.broken_off
        if reading is not None and self.history.add_assistant(reading, []):
            self._state.answer = reading.content.strip()

    async def _act_on(self, reading: Reading) -> Stop | None:
        """Take a reply into the history, do what it asks, and say whether the run is over."""
        state = self._state
        verdict = self._ask(lambda g: g.after_reply(state, reading))
        whole = reading.ending is Ending.WHOLE
        prepared = self._calls.prepare(reading, self.history.unique_id) if whole else []
        if CUT_FOR_USER in reading.repairs:
            self.steering.end_thought(reading)
        else:
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
        if outcomes or CUT_FOR_USER in reading.repairs:
            return None
        state.answer = reading.content.strip()
        return completed(state)

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
                    self.history.add_result(call.call.id, self.history.unfinished.get(call.call.id, INTERRUPTED))
                    continue
                self._state.note(outcome)
                notes, stopped = self._notes_on(outcome)
                stop = stop or stopped
                self.history.add_result(call.call.id, "\n\n".join([outcome.text, *notes]))
        return outcomes, stop

    # -- guards

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

    def _ask(self, hook: Callable[[Guard], Verdict | None]) -> Verdict | None:
        for guard in self._guards:
            verdict = hook(guard)
            if verdict is not None:
                action = "stop" if isinstance(verdict, Stop) else "nudge"
                self.hub.emit(GuardFired(guard.name, action, verdict.detail, self._cost_of(verdict)))
                return verdict
        return None

    def _cost_of(self, verdict: Verdict) -> str:
        """What a guard's step costs the server's cache: only a reply without thinking costs any."""
        if isinstance(verdict, Stop) or not verdict.steer.no_thought:
            return ""
        price = self._replies.price(self._replies.estimate(self.history.data).tokens)
        return f"thinking is off for one reply: {price.words}, and the same when it is on again"

    def _finish(self, stop: Stop) -> RunFinished:
        state = self._state
        self.limits.used += totals_of(state)
        finished = RunFinished(
            reason=stop.reason,
            exit_code=STOP_TABLE[stop.reason].exit + (stop.number if stop.reason is StopReason.SIGNALLED else 0),
            detail=stop.detail,
            answer=state.answer,
            turns=state.turns,
            seconds=state.seconds,
            usage=state.all_usage,
            changes=tuple(state.changes.values()),
            signal=stop.number,
            reasoning_tokens=totals_of(state).reasoning,
        )
        self.before_end(finished)
        self.hub.emit(finished)
        return finished
