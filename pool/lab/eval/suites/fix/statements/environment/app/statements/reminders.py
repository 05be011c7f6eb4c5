"""Reminders of invoices that are not paid."""

from __future__ import annotations

from statements.parties import Party

FEE_MINOR = 500


def format_amount(minor: int, currency: str) -> str:
    """An amount for people."""
    whole, part = divmod(minor, 100)
    return f"{whole:,}".replace(",", " ") + f".{part:02} {currency}"


def reminder(party: Party, owed: int, days: int) -> str:
    """A reminder; from the second week on there is a fee."""
    rows = [f"Dear {party.name}", f"{format_amount(owed, party.currency)} are open since {days} days."]
    if days >= 14:
        rows.append(f"With the fee: {format_amount(owed + FEE_MINOR, party.currency)}")
    return "\n".join(rows)
