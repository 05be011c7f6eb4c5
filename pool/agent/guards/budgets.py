"""Budget guards: turns, wall time, tokens, thought, denials in a row.

The model is told once when a budget is nearly used, beside a call's result; people see it as a note. The limits are
read live, since a face may change them while a run works.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.limits import BUDGET_KINDS, BudgetKind, Limits
from pool.agent.state import CallNote, RunState, Stop, Verdict
from pool.events import StopReason
from pool.sessions.totals import Totals


class BudgetGuard(Guard):
    """Ends a run that has used one budget, before its next turn."""

    def __init__(self, kind: BudgetKind, limits: Limits, share: float) -> None:
        """share: of the limit, at which the model is told; 0: it is not told."""
        self.name = kind.name
        self._kind = kind
        self._limits = limits
        self._share = share
        self._told = limits.told if kind.session else {}
        self._first_limit = limits.limit(kind)

    def before_turn(self, run: RunState) -> Verdict | None:
        limit, used = self._limits.limit(self._kind), used_of(self._kind, run, self._limits)
        if not limit or used < limit:
            return None
        return Stop(
            self._kind.reason, f"{_amount(used)} of {_amount(limit)} {self._kind.unit} are used; {self._kind.remedy}"
        )

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        limit, used = self._limits.limit(self._kind), used_of(self._kind, run, self._limits)
        if not limit or not self._share or self._told.get(self.name) == limit or not self._near(used, limit):
            return None
        self._told[self.name] = limit
        detail = f"{_amount(used)} of {_amount(limit)} {self._kind.unit} are used"
        return CallNote(f"[Pool] {detail}. Bring the task to an end: finish what matters most, then answer.", detail)

    def go_on(self, run: RunState) -> None:
        if self.before_turn(run) is not None:
            more = self._first_limit or self._limits.limit(self._kind)
            self._limits.set(self._kind, used_of(self._kind, run, self._limits) + more)

    def _near(self, used: float, limit: float) -> bool:
        if self._kind.reason is not StopReason.MAX_TURNS:
            return used >= limit * self._share
        # With the last turn the model can do no more than answer, so a word then would come too late.
        return math.ceil(limit * self._share) <= used < limit


class DenialGuard(Guard):
    """Ends a run in which one call after the other is denied."""

    name = "denials"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        for outcome in outcomes:
            run.denied_in_row = run.denied_in_row + 1 if outcome.status == "denied" else 0
        if 0 < self._limits.run.denials_in_row <= run.denied_in_row:
            return Stop(StopReason.DENIED, f"{run.denied_in_row} calls in a row were denied")
        return None


def used_of(kind: BudgetKind, run: RunState, limits: Limits) -> float:
    """How much of a budget is used now."""
    now = totals_of(run)
    if kind.session:
        now = limits.used + now
    match kind.reason:
        case StopReason.MAX_TURNS:
            return now.turns
        case StopReason.MAX_SECONDS:
            return now.seconds
        case StopReason.MAX_TOKENS:
            return now.tokens
        case _:
            return now.reasoning


def totals_of(run: RunState) -> Totals:
    """What a run has used so far, with its subagents; their time is the run's own."""
    used = Totals(run.turns, run.seconds, run.usage.total, run.reasoning_tokens)
    for task in run.tasks:
        used += replace(totals_of(task), seconds=0.0)
    return used


def out_of_time(limits: Limits, run: RunState) -> Stop:
    """The stop for a run that has used its seconds, or the session's."""
    kinds = [k for k in BUDGET_KINDS if k.reason is StopReason.MAX_SECONDS and limits.limit(k)]
    over = [k for k in kinds if used_of(k, run, limits) >= limits.limit(k)]
    kind = (over or kinds)[0]
    of = " of the session" if kind.session else ""
    return Stop(StopReason.MAX_SECONDS, f"the limit of {limits.limit(kind):g} s{of} is reached; {kind.remedy}")


def budget_guards(limits: Limits, told_share: float) -> list[Guard]:
    """The guards for a set of budgets. told_share: see `GuardSettings`."""
    return [*(BudgetGuard(kind, limits, told_share) for kind in BUDGET_KINDS), DenialGuard(limits)]


def _amount(value: float) -> str:
    return f"{math.floor(value):,}"
