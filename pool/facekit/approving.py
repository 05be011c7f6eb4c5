"""The answers that an approval takes, one key each, and how long no key counts."""

from __future__ import annotations

from pool.ports import ApprovalRequest, Remember
from pool_tools.frozen import frozen

SETTLE_SECONDS = 0.6
"""A key that was on its way when a question came must not answer it: for so long no key counts."""

BY_PERSON = "person"

LOW_ROWS = 20
"""In a window with fewer rows the answers stand in one."""

SHORT_WORDS = {"y": "y yes", "e": "e exactly this", "s": "s such", "a": "a always", "n": "n no", "r": "r no, because"}
"""The answers by key, as short as they can be."""


@frozen
class Choice:
    """An answer: its key, its words, and what it means."""

    key: str
    words: str
    remember: Remember


def choices(request: ApprovalRequest) -> list[Choice]:
    """The ways to say yes to this request, the narrowest first."""
    covers = ", ".join(r.covers for r in request.rules)
    out = [Choice("y", "yes, once", Remember.ONCE), Choice("e", "yes, and exactly this again", Remember.EXACT)]
    if request.rules:
        out.append(Choice("s", f"yes, in this session: {covers}", Remember.SIMILAR))
    if request.can_keep:
        what = covers or "exactly this"
        out.append(Choice("a", f"yes, always in this checkout: {what}", Remember.ALWAYS))
    return out
