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


if __name__ == "__main__":
    from functionserver import serve

    serve(globals())
