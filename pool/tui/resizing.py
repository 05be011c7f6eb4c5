"""Screens follow the window's last size only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from textual.widget import Widget

    Base = Widget
else:
    Base = object


class LastSize(Base):
    """For a screen: news of a size that the window no longer has is dropped.

    Textual's screen posts a resize to itself whenever its size changes. Two that wait while updates are batched, as
    they are when the app ends, then turn into each other for ever, and nothing else gets its turn (Textual 8.2.8).
    """

    async def _on_resize(self, event: events.Resize) -> None:
        if event.size != self.app.size:  # pyright: ignore[reportUnknownMemberType] an app's result is left open
            event.prevent_default()
            event.stop()
