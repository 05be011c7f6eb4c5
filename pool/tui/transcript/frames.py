"""When to draw: so many times a second at most, and fewer when drawing takes long."""

from __future__ import annotations

MOST_FRAMES = 20
"""Frames a second."""

LEAST_FRAMES = 4
"""Frames a second under any load."""

REST_SHARE = 8
"""After a frame, as much time as so many frames take is left to everything else."""

WEIGHT = 0.3
"""Of the newest frame in the mean."""


class Pace:
    """Tells how long to wait before the next frame, from what frames cost. Times in seconds, on any one clock."""

    def __init__(self) -> None:
        self._cost = 0.0
        self._last = float("-inf")

    def drawn(self, start: float, end: float) -> None:
        """A frame began and was on the screen at these times."""
        self._cost += WEIGHT * (end - start - self._cost)
        self._last = end

    @property
    def interval(self) -> float:
        """From the end of a frame to the start of the next."""
        return min(1 / LEAST_FRAMES, max(1 / MOST_FRAMES - self._cost, REST_SHARE * self._cost))

    def delay(self, now: float) -> float:
        """How long to wait from now on."""
        return max(0.0, self._last + self.interval - now)
