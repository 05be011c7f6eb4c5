"""Rates of a year, from the bank's file."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "rates"


def load(year: int) -> dict[str, Decimal]:
    """What one euro was worth in each currency at the start of a year. Raises FileNotFoundError without its file."""
    with (FOLDER / f"{year}.csv").open(encoding="utf-8", newline="") as file:
        return {row["currency"]: Decimal(row["per_euro"]) for row in csv.DictReader(file)}


def convert(euros: Decimal, currency: str, year: int) -> Decimal:
    """Euros in another currency, to two digits."""
    return (euros * load(year)[currency]).quantize(Decimal("0.01"))
