"""Amounts, written for people."""

from __future__ import annotations


def written(cents: int) -> str:
    """An amount with two digits after the point: `3.05`, `-0.20`."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"
