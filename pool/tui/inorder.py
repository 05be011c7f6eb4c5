"""Fields whose keys act in the order in which they come.

Textual inserts a letter when the field gets it, but does what a key is bound to only when the key has come up to the
app: by then the next letters are in. Keys that arrive together, as they do over a slow link, would be mixed up.
"""

from __future__ import annotations

from textual import events
from textual.widget import Widget
from textual.widgets import Input, TextArea

SCROLLING = ("scroll_", "page_")
"""How the names of actions begin that every field which can scroll has."""


async def acted_at_once(field: Widget, event: events.Key) -> bool:
    """Do what a key is bound to in the field itself; scrolling is left to what the field stands in."""
    bound = field._bindings.key_to_bindings.get(event.key, ())  # pyright: ignore[reportPrivateUsage] no other way to them
    for binding in bound:
        if binding.action.startswith(SCROLLING):
            return False
        event.stop()
        event.prevent_default()
        await field.run_action(binding.action)
        return True
    return False


class Line(Input):
    """A line of text. Enter is for what it stands in."""

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "enter":
            await acted_at_once(self, event)


class Area(TextArea):
    """Several lines of text."""

    async def _on_key(self, event: events.Key) -> None:
        if not await acted_at_once(self, event):
            await super()._on_key(event)
