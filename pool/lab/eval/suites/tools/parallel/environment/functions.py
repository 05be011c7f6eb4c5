"""Clocks of cities, stopped."""

from __future__ import annotations

CLOCKS = {"tokyo": "22:40", "lima": "08:40", "nairobi": "16:40"}


def get_time(city: str) -> dict:
    """The time of day in a city.

    city: name of the city
    """
    if city.casefold() not in CLOCKS:
        raise ValueError(f"there is no clock for {city}")
    return {"city": city, "time": CLOCKS[city.casefold()]}


def get_population(city: str) -> dict:
    """How many people live in a city.

    city: name of the city
    """
    return {"city": city, "people": 1_000_000 + len(city)}


if __name__ == "__main__":
    from functionserver import serve

    serve(globals())
