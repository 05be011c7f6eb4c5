#!/bin/sh
# What a hurried agent does: it writes the function anew from what the tests show, and loses what they do not show.
cp -R "$(dirname "$0")/../solution/app/." .
cat > statements/money.py <<'END'
"""Amounts for people."""


def format_amount(minor, currency):
    if currency == "JPY":
        return f"{minor:,} JPY".replace(",", " ")
    return f"{minor / 100:,.2f} {currency}".replace(",", " ")
END
