"""What is borrowed most, and how long loans last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from library.loans import Loan


def most_borrowed(loans: Sequence[Loan], limit: int = 3) -> list[str]:
    """The ISBNs with the most loans, at most limit; those with as many loans in the order of their numbers."""
    counts = Counter(loan.isbn for loan in loans)
    ranked = sorted(counts, key=lambda isbn: (-counts[isbn], isbn))
    return ranked[:limit]


def mean_days(loans: Sequence[Loan]) -> float:
    """How many days loans that are over lasted on average, 0.0 if there are none."""
    days = [(loan.back - loan.lent).days for loan in loans if loan.back is not None]
    return sum(days) / len(days) if days else 0.0


def by_member(loans: Sequence[Loan], counts: dict[int, int] | None = None) -> dict[int, int]:
    """Loans a member, added to counts if some are given."""
    if counts is None:
        counts = {}
    for loan in loans:
        counts[loan.member] = counts.get(loan.member, 0) + 1
    return counts
