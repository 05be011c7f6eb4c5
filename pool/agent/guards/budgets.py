"""Budget guards: turns, wall time, tokens, denials in a row."""

from __future__ import annotations

from collections.abc import Sequence

from pool.agent.calls import Outcome
from pool.agent.guards import Guard
from pool.agent.state import RunState, Stop, Verdict
from pool.config.settings import Budgets
from pool.events import StopReason


class TurnBudget(Guard):
    """Ends a run that has used its turns (model replies)."""

    name = "turns"

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def before_turn(self, run: RunState) -> Verdict | None:
        if self._limit and run.turns >= self._limit:
            return Stop(
                StopReason.MAX_TURNS, f"{run.turns} of {self._limit} turns are used; --max-turns sets the limit"
            )
        return None


class TimeBudget(Guard):
    """Ends a run at its wall-time limit, between turns; the loop's own timer cuts what runs longer."""

    name = "seconds"

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def before_turn(self, run: RunState) -> Verdict | None:
        if self._limit and run.seconds >= self._limit:
            return out_of_time(self._limit)
        return None


class TokenBudget(Guard):
    """Ends a run that has used its tokens, prompt and reply together, as the server counts them."""

    name = "tokens"

    def __init__(self, limit: int) -> None:
        self._limit = limit

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


def budget_guards(budgets: Budgets) -> list[Guard]:
    """The guards for a set of budgets."""
    return [
        TurnBudget(budgets.turns),
        TimeBudget(budgets.seconds),
        TokenBudget(budgets.tokens),
        DenialGuard(budgets.denials_in_row),
    ]
