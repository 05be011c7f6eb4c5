"""Loans: who has what until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from library.days import next_open

LOAN_DAYS = 21


@dataclass
class Loan:
    """A copy of a book in a member's hands. back is None while it is out."""

    isbn: str
    member: int
    lent: date
    due: date
    extended: int = 0
    back: date | None = None


def due_day(lent: date, days: int = LOAN_DAYS) -> date:
    """The last day on which a book can come back in time; never one on which the library is closed."""
    return next_open(lent + timedelta(days=days))


def is_overdue(loan: Loan, today: date) -> bool:
    """Whether a loan is late: it is out, and today is after the day on which it was due."""
    return loan.back is None and today > loan.due


def days_late(loan: Loan, today: date) -> int:
    """By how many days a loan is late, 0 if it is not."""
    return max(0, ((loan.back or today) - loan.due).days)
