"""How much a member may borrow, and how often a loan may be extended."""

from __future__ import annotations

from library.loans import Loan
from library.members import Member, is_adult

MOST_LOANS = 5
MOST_LOANS_OF_A_CHILD = 3
MOST_EXTENSIONS = 2


def most_loans(member: Member) -> int:
    """The number of books that a member may have at a time."""
    return MOST_LOANS if is_adult(member) else MOST_LOANS_OF_A_CHILD


def may_borrow(member: Member, out: int) -> bool:
    """Whether a member with so many books out may take another without having more than most_loans."""
    return out < most_loans(member)


def may_extend(loan: Loan) -> bool:
    """Whether a loan may be extended once more: it was extended fewer than MOST_EXTENSIONS times."""
    return loan.extended < MOST_EXTENSIONS
