"""Budgets that a subagent inherits: what it uses counts as its parent's, and ends it where that has nothing left."""

from __future__ import annotations

from dataclasses import replace

from pool.agent.guards import Guard
from pool.agent.guards.budgets import used_of
from pool.agent.limits import BUDGET_KINDS, Limits
from pool.agent.state import RunState, Stop, Verdict
from pool.config.agents import AgentSettings
from pool.config.settings import Budgets, Settings


class InheritedBudget(Guard):
    """Ends a subagent before a turn for which the run that gave it the task has no budget left."""

    name = "inherited"

    def __init__(self, parent: RunState, limits: Limits) -> None:
        self._parent = parent
        self._limits = limits

    def before_turn(self, run: RunState) -> Verdict | None:
        if not any(task is run for task in self._parent.tasks):
            self._parent.tasks.append(run)
        for kind in BUDGET_KINDS:
            limit, used = self._limits.limit(kind), used_of(kind, self._parent, self._limits)
            if limit and used >= limit:
                detail = f"the run that gave the task has used {used:,.0f} of its {limit:,.0f} {kind.unit}"
                return Stop(kind.reason, detail)
        return None


def budgets_for(settings: Settings, kind: AgentSettings, parent: RunState, limits: Limits) -> Budgets:
    """The limits of a subagent's run: its own, and no more time than its parent has left."""
    own = replace(
        limits.run,
        turns=kind.turns or settings.subagents.turns,
        tokens=kind.tokens or 0,
        seconds=_least(kind.seconds, limits.seconds_left(parent.seconds)),
    )
    return own


def _least(own: float, left: float) -> float:
    """The smaller limit of two; 0 is none, and infinite is none too."""
    given = [seconds for seconds in (own or float("inf"), max(left, 1.0)) if seconds != float("inf")]
    return min(given, default=0.0)
