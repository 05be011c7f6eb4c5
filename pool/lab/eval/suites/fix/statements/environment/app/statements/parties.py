"""Who sends and who gets a statement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Party:
    """A name, and the currency in which it pays."""

    name: str
    currency: str = "EUR"
