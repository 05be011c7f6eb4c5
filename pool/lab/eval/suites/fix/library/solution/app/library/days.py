"""Days: reading them, counting between them, the days on which the library is open."""

from __future__ import annotations

from datetime import date, timedelta

from library.errors import LibraryError

SUNDAY = 6


def parse_day(text: str) -> date:
    """A day written as 2031-05-09. Raises LibraryError if it is none."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise LibraryError(f"{text!r} is no day: write it as 2031-05-09") from error


def is_open(day: date) -> bool:
    """Whether the library is open on a day: every day but Sunday."""
    return day.weekday() != SUNDAY


def next_open(day: date) -> date:
    """The day itself if the library is open then, else the next one that is."""
    while not is_open(day):
        day += timedelta(days=1)
    return day


def open_days(first: date, last: date) -> int:
    """How many days from first to last, both inclusive, the library is open."""
    count = 0
    for number in range((last - first).days + 1):
        if is_open(first + timedelta(days=number)):
            count += 1
    return count
