"""Long lists in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Row = TypeVar("Row")


def page(rows: Sequence[Row], number: int, size: int = 20) -> list[Row]:
    """One page of rows; pages count from 1. A page past the end is empty."""
    start = (number - 1) * size
    return list(rows[start : start + size])
