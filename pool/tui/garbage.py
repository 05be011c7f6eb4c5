"""When Python looks for garbage: often and briefly while something is written, whole only between runs.

Looking stops everything, keys too, for some 0.2 ms for each 1,000 objects that are looked at. What a start made stays
till the end, and is never looked at again.
"""

from __future__ import annotations

import gc

YOUNG_OBJECTS = 10_000
"""New objects after which the newest are looked at."""

MIDDLE_LOOKS = 5
"""Such looks after which what outlived one is looked at."""

WHOLE_LOOKS = 1_000
"""Those looks after which all is looked at: not within a run of an ordinary length."""

AFTER_RUN_SECONDS = 1.0
"""So long after a run its end is on the screen."""


class Garbage:
    """For a program that shows one app: this is about all objects of the process."""

    def __init__(self) -> None:
        self._left = False

    def opened_session(self) -> None:
        """Everything is loaded."""
        if self._left:
            gc.collect()
        self._left = False
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, MIDDLE_LOOKS, WHOLE_LOOKS)

    def ran(self) -> None:
        """Nobody waits for anything now: look at all that the run made. What is left belongs to the conversation."""
        if not self._left:
            gc.collect()
            gc.freeze()

    def left_session(self) -> None:
        """What belonged to a session may go, once another one is open."""
        self._left = True
        gc.unfreeze()
