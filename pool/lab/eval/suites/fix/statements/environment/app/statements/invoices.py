"""Invoices: lines with amounts, a total, and how they look."""

from __future__ import annotations

from dataclasses import dataclass

from statements.parties import Party

THOUSANDS = " "
DIGITS = {"EUR": 2, "JPY": 0, "KWD": 3}


@dataclass(frozen=True)
class Line:
    """What is paid for. minor counts the smallest units of the currency: cents, yen."""

    text: str
    minor: int


def format_amount(minor: int, currency: str) -> str:
    """An amount for people, in the currency's own number of digits: `1 234.50 EUR`, `-0.05 EUR`, `980 JPY`.

    Thousands are set apart by THOUSANDS, a minus stands in front, currencies that DIGITS does not list have two digits.
    """
    digits = DIGITS.get(currency, 2)
    sign = "-" if minor < 0 else ""
    whole, part = divmod(abs(minor), 10**digits)
    grouped = f"{whole:,}".replace(",", THOUSANDS)
    after = f".{part:0{digits}}" if digits else ""
    return f"{sign}{grouped}{after} {currency}"


def total(lines: list[Line]) -> int:
    """The sum of all lines, in the smallest units."""
    return sum(line.minor for line in lines)


def invoice(party: Party, lines: list[Line]) -> str:
    """An invoice, line by line, with its total."""
    rows = [f"Invoice for {party.name}"]
    rows += [f"{line.text}: {format_amount(line.minor, party.currency)}" for line in lines]
    rows.append(f"Total: {format_amount(total(lines), party.currency)}")
    return "\n".join(rows)
