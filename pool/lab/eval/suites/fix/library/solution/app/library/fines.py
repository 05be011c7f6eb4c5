"""Fines for books that come late. All amounts are in cents."""

from __future__ import annotations

from library.members import Member, is_adult

GRACE_DAYS = 3
CENTS_A_DAY = 20
MOST_CENTS = 1_000


def in_grace(days: int) -> bool:
    """Whether so many days late cost nothing: up to and including GRACE_DAYS they do not."""
    return days <= GRACE_DAYS


def fine(days: int, member: Member) -> int:
    """What so many days late cost a member: all days count once grace is over, MOST_CENTS at most.

    Children and staff pay nothing.
    """
    if in_grace(days) or not is_adult(member) or "staff" in member.groups:
        return 0
    return min(days * CENTS_A_DAY, MOST_CENTS)
