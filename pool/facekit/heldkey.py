"""A letter typed while a question waits is an answer, or the first of a word that was not meant for the question.

Which of them it is shows in what comes next: the letter is held for a moment, and answers only if nothing follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

HOLD_SECONDS = 0.25
"""Within so long of each other two letters belong to a word: 50 words a minute, at five letters each."""

Key = TypeVar("Key")


Later = Callable[[float, Callable[[], None]], Callable[[], object]]
"""Calls something after so many seconds; what it returns lets that be."""


class HeldKey(Generic[Key]):
    """Holds one key, and how often it was pressed. Used on one loop."""

    def __init__(self, later: Later) -> None:
        self._later = later
        self._keys: list[Key] = []
        self._meant: Callable[[], None] | None = None
        self._stop: Callable[[], object] | None = None

    @property
    def holding(self) -> bool:
        """Whether a key is held."""
        return self._meant is not None

    def hold(self, key: Key, meant: Callable[[], None]) -> None:
        """Hold a key; meant is what it does if no word follows. Only while none is held."""
        self._keys, self._meant = [key], meant
        self._stop = self._later(HOLD_SECONDS, self.release)

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
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()
        return keys
