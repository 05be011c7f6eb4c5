"""A weather service and a railway's timetable, made up."""

from __future__ import annotations

from typing import Literal

KNOWN = {"porto": (18, "light rain"), "oslo": (-3, "snow"), "cairo": (31, "clear sky")}


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"]) -> dict:
    """The weather in a city now.

    city: name of the city
    unit: unit of the temperature
    """
    if city.casefold() not in KNOWN:
        raise ValueError(f"no weather is known for {city}")
    degrees, sky = KNOWN[city.casefold()]
    shown = degrees if unit == "celsius" else round(degrees * 9 / 5 + 32)
    return {"city": city, "temperature": shown, "unit": unit, "sky": sky}


def find_trains(start: str, goal: str, day: str) -> list:
    """Trains from one city to another.

    start: city in which the journey begins
    goal: city in which it ends
    day: day of the journey, such as 2031-05-09
    """
    return [{"from": start, "to": goal, "day": day, "leaves": "09:12"}]


if __name__ == "__main__":
    from functionserver import serve

    serve(globals())
