"""The budgets of a session as they stand: a face may change them while a run works, and guards read them live."""

from __future__ import annotations

from dataclasses import replace

from pool.config.settings import Budgets, SessionBudgets
from pool.events import StopReason
from pool.sessions.totals import Totals
from pool_tools.frozen import frozen

HIGHEST_LIMIT = 10**12


@frozen
class BudgetKind:
    """One budget: its name for people, the field that holds it, its unit, and the stop that it leads to."""

    name: str
    field: str
    unit: str
    reason: StopReason
    session: bool = False

    @property
    def remedy(self) -> str:
        """What raises it."""
        flag = "" if self.session else f"--max-{self.name} or "
        return f"{flag}/budget {self.name} N sets the limit"


BUDGET_KINDS = (
    BudgetKind("turns", "turns", "turns", StopReason.MAX_TURNS),
    BudgetKind("seconds", "seconds", "seconds", StopReason.MAX_SECONDS),
    BudgetKind("tokens", "tokens", "tokens", StopReason.MAX_TOKENS),
    BudgetKind("reasoning", "reasoning_run", "tokens of thought", StopReason.MAX_REASONING),
    BudgetKind("session-turns", "turns", "turns of the session", StopReason.MAX_TURNS, session=True),
    BudgetKind("session-seconds", "seconds", "seconds of the session", StopReason.MAX_SECONDS, session=True),
    BudgetKind("session-tokens", "tokens", "tokens of the session", StopReason.MAX_TOKENS, session=True),
    BudgetKind(
        "session-reasoning", "reasoning", "tokens of thought of the session", StopReason.MAX_REASONING, session=True
    ),
)


class Limits:
    """Budgets of the run and of the session, what the session has used before this run, and whether thought is off.

    no_thought: every thought is closed before it begins, by hand; the chat template stays as it is. told holds the
    session's budgets that the model was told of, by name, with the limit that they had then.
    """

    def __init__(self, run: Budgets, session: SessionBudgets, used: Totals) -> None:
        self.run = run
        self.session = session
        self.used = used
        self.no_thought = False
        self.told: dict[str, float] = {}

    def limit(self, kind: BudgetKind) -> float:
        """A budget's limit, 0 for none."""
        return float(getattr(self.session if kind.session else self.run, kind.field))

    def set(self, kind: BudgetKind, limit: float) -> None:
        """Change a budget. Raises ValueError for a limit that is none."""
        if not 0 <= limit <= HIGHEST_LIMIT:
            raise ValueError(f"a budget is a number from 0 (no limit) to {HIGHEST_LIMIT:,}")
        value = limit if kind.field == "seconds" else int(limit)
        if kind.session:
            self.session = replace(self.session, **{kind.field: value})
        else:
            self.run = replace(self.run, **{kind.field: value})

    def seconds_left(self, run_seconds: float) -> float:
        """How long the run may still work; infinite without a limit."""
        left = float("inf")
        if self.run.seconds:
            left = self.run.seconds - run_seconds
        if self.session.seconds:
            left = min(left, self.session.seconds - self.used.seconds - run_seconds)
        return left


def budget_kind(name: str) -> BudgetKind | None:
    """A budget by its name, None if there is none of that name."""
    return next((kind for kind in BUDGET_KINDS if kind.name == name), None)
