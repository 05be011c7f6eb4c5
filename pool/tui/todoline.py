"""One line above the prompt box: how far the model's list of steps is, and the step that is worked on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from pool.events import TodoItem
from pool.facekit.plain import plain


class TodoLine(Widget):
    """Hidden while there is no list, and once all of it is done. A click shows the whole list."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"todo--count"}
    DEFAULT_CSS = """
    TodoLine { height: 1; display: none; color: $muted; background: $background; padding: 0 1; }
    TodoLine.open { display: block; }
    TodoLine > .todo--count { color: $accent; }
    """

    class Clicked(Message):
        """The line was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.items: Sequence[TodoItem] = ()

    def show_items(self, items: Sequence[TodoItem]) -> None:
        """Show this list."""
        self.items = items
        self.set_class(any(item.state != "done" for item in items), "open")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        done = sum(item.state == "done" for item in self.items)
        now = next((i for i in self.items if i.state == "now"), None)
        item = now or next((i for i in self.items if i.state != "done"), None)
        if item is None:
            return Strip.blank(width, base)
        count = Segment(f"{done} of {len(self.items)} ", self.get_component_rich_style("todo--count"))
        strip = Strip([count, Segment(("" if now else "next: ") + plain(item.text), base)])
        if strip.cell_length > width:
            strip = Strip.join([strip.crop(0, max(0, width - 1)), Strip([Segment("…", base)])])
        return strip.adjust_cell_length(width, base)

    def on_click(self) -> None:
        self.post_message(self.Clicked())
