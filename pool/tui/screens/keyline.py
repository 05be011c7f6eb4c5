"""The last row of a panel: the keys that work there, as many as fit, or what was just done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from pool.facekit.plain import plain

GAP = "  "
KEY_NAMES = {"Esc": "escape", "Enter": "enter", "Tab": "tab", "Space": "space"}
"""Keys as they are shown, and as Textual calls them."""

Hint = tuple[str, str]
"""A key and what it does. The most needed come first."""


class KeyLine(Widget):
    """One row. What was said stays until `quiet`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys--key", "keys--words", "keys--info", "keys--warning", "keys--error"}
    DEFAULT_CSS = """
    KeyLine { height: 1; background: $surface; color: $muted; }
    KeyLine > .keys--key { color: $accent; text-style: bold; }
    KeyLine > .keys--words { color: $muted; }
    KeyLine > .keys--info { color: $success; }
    KeyLine > .keys--warning { color: $warning; text-style: bold; }
    KeyLine > .keys--error { color: $error; text-style: bold; }
    """

    def __init__(self, hints: Sequence[Hint]) -> None:
        super().__init__()
        self._hints = hints
        self._said = ""
        self._level = "info"

    @property
    def said(self) -> str:
        """What was said last, "" if the keys are shown."""
        return self._said

    def show_hints(self, hints: Sequence[Hint]) -> None:
        """Other keys work now."""
        self._hints = hints
        self.refresh()

    def say(self, text: str, level: str = "info") -> None:
        """Say something in place of the keys; level is info, warning or error."""
        self._said, self._level = text, level
        self.refresh()

    def quiet(self) -> None:
        """Show the keys again."""
        if self._said:
            self._said = ""
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        if self._said:
            style = base + self.get_component_rich_style(f"keys--{self._level}", partial=True)
            return Strip([Segment(" " + plain(self._said), style)]).adjust_cell_length(width, base)
        key_style = base + self.get_component_rich_style("keys--key", partial=True)
        words_style = base + self.get_component_rich_style("keys--words", partial=True)
        segments: list[Segment] = [Segment(" ", base)]
        for _, (key, words) in self._places(width):
            segments += [Segment(key, key_style), Segment(f" {words}{GAP}", words_style)]
        return Strip(segments).adjust_cell_length(width, base)

    def _places(self, width: int) -> list[tuple[int, Hint]]:
        """The hints that fit, each with its column; the last one, which says how to leave, is always among them."""
        *hints, leave = self._hints or [("", "")]
        room = width - 1 - cell_len(" ".join(leave))
        found: list[tuple[int, Hint]] = []
        at = 1
        for hint in hints:
            cells = cell_len(" ".join(hint)) + len(GAP)
            if at - 1 + cells > room:
                break
            found.append((at, hint))
            at += cells
        return [*found, (at, leave)]

    def on_click(self, event: events.Click) -> None:
        """A click on a key is that key."""
        for at, (key, words) in self._places(self.size.width):
            if at <= event.x < at + cell_len(f"{key} {words}") and not self._said:
                name = KEY_NAMES.get(key, key if len(key) == 1 else "")
                if name:
                    self.app.simulate_key(name)  # pyright: ignore[reportUnknownMemberType] Textual leaves the app's type open
