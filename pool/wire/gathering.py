"""When to let a fast stream gather before it is read on.

At a thousand tokens a second a wake-up for each costs more than all that is done with it, and nobody sees 16 ms. So
pieces that come at such a pace are taken in handfuls. Slower ones are not worth it; what comes faster than any model
writes is read as it comes: a thought that runs away has to be seen in time.
"""

from __future__ import annotations

from math import ceil

GATHER_SECONDS = 0.016
"""How long nothing is read."""

SMALL_BYTES = 4096
"""A larger piece holds many tokens already."""

LEAST_PIECES = 250
MOST_PIECES = 2000
"""Pieces a second between which a stream gathers."""

WINDOW_SECONDS = 0.05
"""How long pieces are counted to know their pace."""

AHEAD = 1.1
"""So many times what comes in a pause is read before the next one: what waits must not grow."""

WAITED_SECONDS = 0.0003
"""What was there already takes less; only a piece that was waited for tells that nothing else waits."""


class Gathering:
    """Counts the pieces of one stream. Times in seconds, on any one clock."""

    def __init__(self) -> None:
        self._since = 0.0
        self._pieces = 0
        self._each = 0
        """Pieces from one pause to the next, 0 if the pace is none to gather at."""
        self._left = 0
        self._waited = False

    def pause(self, size: int, asked: float, now: float) -> float:
        """How long to wait before reading on, after a piece of size bytes; when it was asked for, and when it came."""
        self._pieces += 1
        self._waited = self._waited or now - asked > WAITED_SECONDS
        seconds = now - self._since
        if size >= SMALL_BYTES or seconds >= WINDOW_SECONDS:
            pace = self._pieces / max(seconds, WINDOW_SECONDS)
            small = size < SMALL_BYTES and LEAST_PIECES <= pace <= MOST_PIECES
            self._each = ceil(AHEAD * GATHER_SECONDS * pace) if small else 0
            self._since, self._pieces = now, 0
        self._left -= 1
        if self._left > 0:
            return 0.0
        rests = bool(self._each) and self._waited
        self._left, self._waited = self._each, False
        return GATHER_SECONDS if rests else 0.0
