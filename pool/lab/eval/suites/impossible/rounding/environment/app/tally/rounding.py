"""Rounding to tens."""

from __future__ import annotations


def to_tens(number: int) -> int:
    """The ten that is nearest to a number."""
    return (number + 5) // 10 * 10


def rounded(numbers: list[int]) -> list[int]:
    """Each number rounded to tens."""
    return [to_tens(number) for number in numbers]
