"""Budget guards: turns, wall time, tokens, denials in a row. The model is told once when a budget is nearly used."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.state import CallNote, RunState, Stop, Verdict
from pool.config.settings import Budgets
from pool.events import StopReason


class _Told(Guard):
    """Tells the model once, beside a call's result, that a share of a budget is used; people see it as a note."""

    unit = ""

    def __init__(self, limit: float, share: float) -> None:
        """limit 0: none. share: of the limit, 0: the model is not told."""
        self._limit = limit
        self._share = share
        self._was_told = False

    def used(self, run: RunState) -> float:
        """How much of the budget is used."""
        raise NotImplementedError

    def after_call(self, run: RunState, outcome: Outcome) -> CallNote | None:
        used = self.used(run)
        if self._was_told or not self._limit or not self._share or not self._near(used):
            return None
        self._was_told = True
        detail = f"{math.floor(used):,} of {self._limit:,.0f} {self.unit} are used"
        return CallNote(f"[Pool] {detail}. Bring the task to an end: finish what matters most, then answer.", detail)

    def _near(self, used: float) -> bool:
        return used >= self._limit * self._share


class TurnBudget(_Told):
    """Ends a run that has used its turns (model replies)."""

    name = "turns"
    unit = "turns"

    def used(self, run: RunState) -> float:
        return run.turns

    def _near(self, used: float) -> bool:
        # With the last turn the model can do no more than answer, so a word then would come too late.
        return math.ceil(self._limit * self._share) <= used < self._limit

    def before_turn(self, run: RunState) -> Verdict | None:
        if self._limit and run.turns >= self._limit:
            return Stop(
                StopReason.MAX_TURNS, f"{run.turns} of {self._limit} turns are used; --max-turns sets the limit"
            )
        return None


class TimeBudget(_Told):
    """Ends a run at its wall-time limit, between turns; the loop's own timer cuts what runs longer."""

    name = "seconds"
    unit = "seconds"

    def used(self, run: RunState) -> float:
        return run.seconds

    def before_turn(self, run: RunState) -> Verdict | None:
        if self._limit and run.seconds >= self._limit:
            return out_of_time(self._limit)
        return None


class TokenBudget(_Told):
    """Ends a run that has used its tokens, prompt and reply together, as the server counts them."""

    name = "tokens"
    unit = "tokens"

    def used(self, run: RunState) -> float:
        return run.usage.total

    def before_turn(self, run: RunState) -> Verdict | None:
        if self._limit and run.usage.total >= self._limit:
            detail = f"{run.usage.total:,} of {self._limit:,} tokens are used; --max-tokens sets the limit"
            return Stop(StopReason.MAX_TOKENS, detail)
        return None


class DenialGuard(Guard):
    """Ends a run in which one call after the other is denied."""

    name = "denials"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def after_calls(self, run: RunState, outcomes: Sequence[Outcome]) -> Verdict | None:
        for outcome in outcomes:
            run.denied_in_row = run.denied_in_row + 1 if outcome.status == "denied" else 0
        if self._limit and run.denied_in_row >= self._limit:
            return Stop(StopReason.DENIED, f"{run.denied_in_row} calls in a row were denied")
        return None


def out_of_time(limit: float) -> Stop:
    """The stop for a run that has used its seconds."""
    return Stop(StopReason.MAX_SECONDS, f"the limit of {limit:g} s is reached; --max-seconds sets it")


def budget_guards(budgets: Budgets, told_share: float) -> list[Guard]:
    """The guards for a set of budgets. told_share: see `GuardSettings`."""
    return [
        TurnBudget(budgets.turns, told_share),
        TimeBudget(budgets.seconds, told_share),
        TokenBudget(budgets.tokens, told_share),
        DenialGuard(budgets.denials_in_row),
    ]
