"""Runs that outlive a terminal: the process that works one, and the commands that find, show and stop it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How a live run works.

    notify is the user's command, "" for none; name what a new session is called. followed: whoever starts it attaches.
    """

    notify: str = ""
    name: str = ""
    followed: bool = False
