"""A calendar that forgets."""

from __future__ import annotations


def create_event(title: str, day: str, minutes: int, guests: list[str], remind: bool = False) -> dict:
    """Put an event into the calendar.

    title: what it is called
    day: its day, such as 2031-05-09
    minutes: how long it takes
    guests: names of those who are invited
    remind: whether guests are reminded the day before
    """
    return {"event": f"E-{len(title) + minutes}", "title": title, "day": day, "invited": len(guests), "reminder": remind}


def delete_event(event: str) -> dict:
    """Take an event out of the calendar.

    event: its number, such as E-12
    """
    return {"deleted": event}


if __name__ == "__main__":
    from functionserver import serve

    serve(globals())
