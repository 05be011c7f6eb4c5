"""Letters typed while a question waits: one is an answer, a word is text for the line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pool.facekit.heldkey import HeldKey, Later

if TYPE_CHECKING:
    from collections.abc import Callable

    from pool.repl.screen import Screen


class QuestionKeys:
    """Used on the loop, while the screen's line is empty and a question waits."""

    def __init__(self, screen: Screen, later: Later | None = None) -> None:
        """later is the clock of a held letter, the loop's by default."""
        self._screen = screen
        self._held = HeldKey[str](later or _on_the_loop)
        self._letter = ""

    def typed(self, letter: str) -> None:
        """Take what a key writes."""
        asking = self._screen.chat.asking
        if self._held.holding and letter == self._letter and letter.isalpha():
            self._held.again(letter)
        elif self._held.holding:
            self._screen.box.insert_text("".join((*self._held.take(), letter)))
        elif asking.ready and asking.opens_words(letter):
            asking.key(letter)
        elif asking.ready:
            self._letter = letter
            self._held.hold(letter, lambda: asking.key(letter))
        else:
            asking.settle()
            self._letter = letter
            self._held.hold(letter, lambda: None)

    def confirm(self) -> bool:
        """Enter: a held letter is meant; False if none is held."""
        holding = self._held.holding
        self._held.release()
        return holding

    def forget(self) -> None:
        """Esc: a held letter is not meant."""
        self._held.take()


def _on_the_loop(seconds: float, call: Callable[[], None]) -> Callable[[], object]:
    return asyncio.get_running_loop().call_later(seconds, call).cancel
