"""A letter typed while a question waits is an answer, or the first of a word that was not meant for the question.

Which of them it is shows in what comes next: the letter is held for a moment, and answers only if nothing follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

HOLD_SECONDS = 0.25
"""Within so long of each other two letters belong to a word: 50 words a minute, at five letters each."""

Key = TypeVar("Key")


class Stoppable(Protocol):
    """A timer that has not run off."""

    def stop(self) -> None:
        """Let it never run off."""
        ...


Later = Callable[[float, Callable[[], None]], Stoppable]
"""Calls something after so many seconds."""


class HeldKey(Generic[Key]):
    """Holds one key, and how often it was pressed. Used on one loop."""

    def __init__(self, later: Later) -> None:
        self._later = later
        self._keys: list[Key] = []
        self._meant: Callable[[], None] | None = None
        self._timer: Stoppable | None = None

    @property
    def holding(self) -> bool:
        """Whether a key is held."""
        return self._meant is not None

    def hold(self, key: Key, meant: Callable[[], None]) -> None:
        """Hold a key; meant is what it does if no word follows. Only while none is held."""
        self._keys, self._meant = [key], meant
        self._timer = self._later(HOLD_SECONDS, self.release)

    def again(self, key: Key) -> None:
        """The held key was pressed once more: an impatient answer is one answer, and no word."""
        self._keys.append(key)

    def release(self) -> None:
        """No word follows: let the held key do what it means."""
        meant = self._meant
        self.take()
        if meant is not None:
            meant()

    def take(self) -> list[Key]:
        """The held key as often as it was pressed; it means nothing any more."""
        keys, self._keys, self._meant = self._keys, [], None
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.stop()
        return keys
