"""When to let a fast stream gather before it is read on.

At a thousand tokens a second a wake-up for each costs more than all that is done with it, and nobody sees 16 ms. So
pieces that come steadily at such a pace are taken in handfuls. Slower ones are not worth it; what comes faster than any
model writes, or in floods, is read as it comes: a thought that runs away has to be seen in time.
"""

from __future__ import annotations

GATHER_SECONDS = 0.016
"""How long nothing is read."""

SMALL_BYTES = 4096
"""A larger piece holds many tokens already."""

BUFFERED_SECONDS = 0.0002
"""A piece that was there already comes sooner; only one that was waited for came over the network just now."""

SHORTEST_SECONDS = 0.0005
LONGEST_SECONDS = 0.004
"""From one piece that was waited for to the next, at a pace to gather at. A longer time can be this program's own."""

STEADY_PIECES = 32
"""So many pieces have to come at that pace first."""

FLOOD_PIECES = 48
"""More than such a pace brings while nothing is read: what was there already was no handful."""


class Gathering:
    """Looks at the pieces of one stream. Times in seconds, on any one clock."""

    def __init__(self) -> None:
        self._arrived = 0.0
        self._steady = 0
        self._at_once = 0
        self._rested = False

    def pause(self, size: int, asked: float, now: float, pieces: int = 1) -> float:
        """How long to wait before reading on, after so many pieces of size bytes each that were there together.

        The first of them was asked for at one time, and came at the other.
        """
        if size >= SMALL_BYTES:
            self._steady = 0
            return 0.0
        if now - asked <= BUFFERED_SECONDS:
            self._at_once += pieces
            if self._at_once > FLOOD_PIECES:
                self._steady = 0
            return 0.0
        apart, self._arrived, self._at_once = now - self._arrived, now, pieces - 1
        if self._at_once > FLOOD_PIECES:
            self._steady = 0
            return 0.0
        if self._rested:  # it may have come at any time while nothing was read
            self._rested = False
            return 0.0
        if apart < SHORTEST_SECONDS:
            self._steady = 0
        elif apart < LONGEST_SECONDS:
            self._steady += 1
        self._rested = apart < LONGEST_SECONDS and self._steady > STEADY_PIECES
        return GATHER_SECONDS if self._rested else 0.0
