"""One subagent at work: a session of its own, followed step by step, ended with whoever gave it the task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pool.agent.approvals import NobodyThere
from pool.agent.ids import new_id
from pool.agent.limits import Limits
from pool.agent.state import RunState, Stop
from pool.agent.subagents.inherited import InheritedBudget
from pool.config.settings import Settings
from pool.events import (
    CallProposed,
    ContentDelta,
    Event,
    GuardFired,
    ReasoningDelta,
    RunFinished,
    StopReason,
    TaskProgress,
    TurnStarted,
    UsageReported,
)

if TYPE_CHECKING:
    from pool.agent.factory import Session

STOPPED = Stop(StopReason.INTERRUPTED, "the run that gave the task was stopped")
END_SECONDS = 5.0
"""How long a subagent may take to end in order once it is stopped."""

SAID_SECONDS = 1.0
"""While it thinks or writes, its figures are told at most this often."""


@dataclass(slots=True)
class Steps:
    """Follows a subagent's events: each step is a line, and the figures change with each reply.

    tell takes the lines, progress the figures.
    """

    tell: Callable[[str], object]
    progress: Callable[[TaskProgress], object]
    state: Callable[[], RunState]
    step: str = "starts"
    _told_at: float = 0.0

    async def follow(self, events: AsyncIterator[Event]) -> None:
        """Follow until the session closes."""
        async for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        """Take an event."""
        match event.body:
            case TurnStarted():
                self._now("reads")
            case ReasoningDelta():
                self._now("thinks", seldom=True)
            case ContentDelta():
                self._now("writes", seldom=True)
            case CallProposed(title=title, name=name, preview=preview, preview_kind=kind):
                line = f"$ {preview.strip()}" if kind == "command" else title or name
                self.tell(f"{' '.join(line.split())[:200]}\n")
                self._now(" ".join(line.split())[:80])
            case GuardFired(guard=guard, action=action, detail=detail):
                self.tell(f"guard {guard}: {action}: {' '.join(detail.split())}\n")
            case UsageReported() | RunFinished():
                self._now(self.step)
            case _:
                pass

    def _now(self, step: str, *, seldom: bool = False) -> None:
        now = time.monotonic()
        if seldom and step == self.step and now - self._told_at < SAID_SECONDS:
            return
        self.step, self._told_at = step, now
        state = self.state()
        self.progress(TaskProgress(step, state.turns, state.all_usage.total, state.seconds))


async def work(
    settings: Settings,
    task: str,
    parent: tuple[RunState, Limits],
    steps: Callable[[Callable[[], RunState]], Steps],
    begun: Callable[[Session], object],
) -> RunFinished:
    """Work a task to its end in a session of its own. parent are the books and the budgets that it uses up.

    steps makes what follows it, given its books; begun is told of the session before its first request. Cancelled, it
    stops the subagent, waits for its end and goes on being cancelled. Raises `SettingsError` and `ServerProblem` where
    the session cannot be opened.
    """
    # A session has subagents, and a subagent is one: only one of the two can import the other first.
    from pool.agent.factory import Extras, open_session

    extras = Extras(guards=lambda: [InheritedBudget(*parent)])
    async with open_session(settings, NobodyThere(), extras) as session:
        begun(session)
        following = asyncio.create_task(steps(lambda: session.agent.state).follow(session.hub.subscribe()))
        running = asyncio.create_task(session.agent.run(task, new_id()))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            session.agent.stop(STOPPED)
            await asyncio.wait({running}, timeout=END_SECONDS)
            raise
        finally:
            session.hub.close()
            await following
