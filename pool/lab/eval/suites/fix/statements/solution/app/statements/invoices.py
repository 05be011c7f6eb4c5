"""Invoices: lines with amounts, a total, and how they look."""

from __future__ import annotations

from dataclasses import dataclass

from statements.money import format_amount
from statements.parties import Party


@dataclass(frozen=True)
class Line:
    """What is paid for. minor counts the smallest units of the currency: cents, yen."""

    text: str
    minor: int


def total(lines: list[Line]) -> int:
    """The sum of all lines, in the smallest units."""
    return sum(line.minor for line in lines)


def invoice(party: Party, lines: list[Line]) -> str:
    """An invoice, line by line, with its total."""
    rows = [f"Invoice for {party.name}"]
    rows += [f"{line.text}: {format_amount(line.minor, party.currency)}" for line in lines]
    rows.append(f"Total: {format_amount(total(lines), party.currency)}")
    return "\n".join(rows)
