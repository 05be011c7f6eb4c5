"""Prompts that wait for the running run to end."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pool.events import StopReason

RUN_ON_AFTER = frozenset({StopReason.COMPLETED, StopReason.UNVERIFIED})
"""After these the next queued prompt is worked. After any other stop the user is to look first: the queue is held."""


class PromptQueue:
    """Prompts in the order in which they will be worked. changed is called after each change."""

    def __init__(self, changed: Callable[[], object], prompts: Iterable[str] = ()) -> None:
        self._changed = changed
        self._prompts = list(prompts)

    @property
    def prompts(self) -> tuple[str, ...]:
        return tuple(self._prompts)

    def add(self, text: str) -> None:
        """Put a prompt at the end."""
        self._prompts.append(text)
        self._changed()

    def put_first(self, texts: Iterable[str]) -> None:
        """Put prompts before all others."""
        self._prompts[:0] = texts
        self._changed()

    def take(self) -> str:
        """The next prompt, which waits no longer. Raises IndexError if none waits."""
        text = self._prompts.pop(0)
        self._changed()
        return text

    def edit(self, index: int, text: str) -> None:
        """Replace a prompt by its place, from 0. Raises IndexError."""
        self._prompts[self._checked(index)] = text
        self._changed()

    def drop(self, index: int) -> str:
        """Take a prompt out by its place, from 0. Raises IndexError."""
        text = self._prompts.pop(self._checked(index))
        self._changed()
        return text

    def _checked(self, index: int) -> int:
        if not 0 <= index < len(self._prompts):
            raise IndexError(f"there is no queued prompt {index + 1}; {len(self._prompts)} are queued")
        return index
