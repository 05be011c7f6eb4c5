"""Receipts for what was paid."""

from __future__ import annotations

from statements.parties import Party


def receipt(party: Party, paid: int, owed: int) -> str:
    """A receipt, with what is still open or was paid too much."""
    rows = [f"Received from {party.name}: {format_amount(paid, party.currency)}"]
    rest = owed - paid
    if rest:
        rows.append(f"Open: {format_amount(rest, party.currency)}")
    return "\n".join(rows)


def format_amount(minor: int, currency: str) -> str:
    """An amount for people."""
    sign, minor = ("-", -minor) if minor < 0 else ("", minor)
    return f"{sign}{minor // 100}.{minor % 100:02} {currency}"
