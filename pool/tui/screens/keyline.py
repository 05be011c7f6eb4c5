"""The last row of a panel: the keys that work there, as many as fit, or what was just done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from pool.facekit.plain import plain

GAP = "  "

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
        used = 1
        for key, words in self._hints:
            text = f"{key} {words}"
            if used + cell_len(text) > width:
                break
            segments += [Segment(key, key_style), Segment(f" {words}{GAP}", words_style)]
            used += cell_len(text) + len(GAP)
        return Strip(segments).adjust_cell_length(width, base)
