"""What the user wrote while it worked: messages that steer the running turn, and prompts that wait for its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from pool.facekit.plain import plain
from pool_tools.frozen import frozen

MOST_ROWS = 5


@frozen
class Waiting:
    """A message that waits. steering: it reaches the model in the running turn, else after the run.

    held: no run works, so it waits for the end of the next one. A number below 0: there is no session yet.
    """

    number: int
    text: str
    steering: bool
    held: bool = False


def _when(row: Waiting) -> str:
    """When a message will be taken up."""
    if row.number < 0:
        return "when the server is there: "
    return "for this turn: " if row.steering else "after the next run: " if row.held else "after this run: "


class QueueList(Widget):
    """One line for each waiting message, at most five; hidden when there is none. A click takes it back to the box."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"queue--kind"}
    DEFAULT_CSS = """
    QueueList { height: auto; max-height: 5; display: none; color: $muted; background: $background; padding: 0 1; }
    QueueList.open { display: block; }
    QueueList > .queue--kind { color: $user; }
    """

    class Clicked(Message):
        """A waiting message was clicked."""

        def __init__(self, waiting: Waiting) -> None:
            self.waiting = waiting
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Waiting] = ()

    def show_rows(self, rows: Sequence[Waiting]) -> None:
        """Show these."""
        self.rows = rows
        self.set_class(bool(rows), "open")
        self.refresh(layout=True)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return min(len(self.rows), MOST_ROWS)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[y]
        kind = self.get_component_rich_style("queue--kind")
        more = len(self.rows) - MOST_ROWS
        if y == MOST_ROWS - 1 and more > 0:
            return Strip([Segment(f"and {more + 1} more", self.rich_style)]).adjust_cell_length(width, self.rich_style)
        label = _when(row)
        text = plain(" ".join(row.text.split()))
        strip = Strip([Segment(label, kind), Segment(text, self.rich_style)])
        if strip.cell_length > width:
            strip = Strip.join([strip.crop(0, max(0, width - 1)), Strip([Segment("…", self.rich_style)])])
        return strip.adjust_cell_length(width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        if event.y < len(self.rows):
            self.post_message(self.Clicked(self.rows[event.y]))
