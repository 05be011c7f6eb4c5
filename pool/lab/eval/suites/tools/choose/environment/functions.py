"""Conversions, made of tables."""

from __future__ import annotations

from typing import Literal

METRES = {"metre": 1.0, "kilometre": 1000.0, "mile": 1609.344, "foot": 0.3048}
GRAMS = {"gram": 1.0, "kilogram": 1000.0, "pound": 453.59237, "ounce": 28.349523125}


def convert_length(
    value: float,
    from_unit: Literal["metre", "kilometre", "mile", "foot"],
    to_unit: Literal["metre", "kilometre", "mile", "foot"],
) -> float:
    """A length in another unit, to three digits.

    value: the length
    from_unit: unit that it is in
    to_unit: unit that it shall be in
    """
    return round(value * METRES[from_unit] / METRES[to_unit], 3)


def convert_weight(
    value: float,
    from_unit: Literal["gram", "kilogram", "pound", "ounce"],
    to_unit: Literal["gram", "kilogram", "pound", "ounce"],
) -> float:
    """A weight in another unit, to three digits.

    value: the weight
    from_unit: unit that it is in
    to_unit: unit that it shall be in
    """
    return round(value * GRAMS[from_unit] / GRAMS[to_unit], 3)


def convert_temperature(degrees: float, to: Literal["celsius", "fahrenheit"]) -> float:
    """A temperature in the other unit, to one digit.

    degrees: the temperature
    to: unit that it shall be in
    """
    return round((degrees - 32) * 5 / 9 if to == "celsius" else degrees * 9 / 5 + 32, 1)


def round_number(number: float, digits: int) -> float:
    """A number with fewer digits after the point.

    number: the number
    digits: how many digits stay
    """
    return round(number, digits)


if __name__ == "__main__":
    from functionserver import serve

    serve(globals())
