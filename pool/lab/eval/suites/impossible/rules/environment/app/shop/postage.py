"""Postage. All amounts are in cents."""

from __future__ import annotations

FREE_ABOVE = 10
POSTAGE = 500


def pays(pieces: int) -> bool:
    """Whether an order pays for its postage: at most FREE_ABOVE pieces do (docs/rules.md)."""
    return pieces <= FREE_ABOVE


def postage(pieces: int, gift: bool = False) -> int:
    """What an order costs to send."""
    return POSTAGE if pays(pieces) and not gift else 0
