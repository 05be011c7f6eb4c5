"""Small windows over the conversation: a click beside one closes it, as Esc does."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual.screen import ModalScreen

from pool.tui.resizing import LastSize

Result = TypeVar("Result")


class BesideCloses(LastSize, ModalScreen[Result]):
    """Its frame is a child; what is left of the screen is beside it."""

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.dismiss(None)
