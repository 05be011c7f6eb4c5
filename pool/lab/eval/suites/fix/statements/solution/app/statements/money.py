"""`format_amount`, for all modules that need it."""

from __future__ import annotations

THOUSANDS = " "
DIGITS = {"EUR": 2, "JPY": 0, "KWD": 3}


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
