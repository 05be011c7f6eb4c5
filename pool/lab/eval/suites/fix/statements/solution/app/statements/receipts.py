"""Receipts for what was paid."""

from __future__ import annotations

from statements.money import format_amount
from statements.parties import Party


def receipt(party: Party, paid: int, owed: int) -> str:
    """A receipt, with what is still open or was paid too much."""
    rows = [f"Received from {party.name}: {format_amount(paid, party.currency)}"]
    rest = owed - paid
    if rest:
        rows.append(f"Open: {format_amount(rest, party.currency)}")
    return "\n".join(rows)
