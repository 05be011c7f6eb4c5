"""The list above the prompt box: what the word being typed may become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from pool.facekit.plain import plain
from pool.tui.cutting import cut_strip
from pool_tools.frozen import frozen

MOST_ROWS = 8


@frozen
class Offer:
    """A completion: what takes the word's place, or the whole line's, and one line about it."""

    text: str
    about: str = ""
    line: bool = False


class Completion(Widget):
    """Offers, one chosen; it never takes the focus, since the user goes on typing.

    At most 8 rows, and not so many that a low window has no room for the prompt box.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion--chosen", "completion--about"}

    DEFAULT_CSS = """
    Completion {
        height: auto; max-height: 40vh; display: none; background: $panel; color: $text; padding: 0 1; margin: 0 1;
    }
    Completion.open { display: block; }
    Completion > .completion--chosen { background: $selection; text-style: bold; }
    Completion > .completion--about { color: $muted; }
    """

    class Picked(Message):
        """An offer was clicked."""

        def __init__(self, offer: Offer) -> None:
            self.offer = offer
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self._offers: Sequence[Offer] = ()
        self._chosen = 0
        self._first = 0
        self.moved = False
        """Whether the person has chosen among the offers."""

    @property
    def open(self) -> bool:
        return bool(self._offers)

    @property
    def chosen(self) -> Offer | None:
        return self._offers[self._chosen] if self._offers else None

    def show_offers(self, offers: Sequence[Offer]) -> None:
        """Show these, the first chosen; none closes the list."""
        self._offers, self._chosen, self._first, self.moved = offers, 0, 0, False
        self.set_class(bool(offers), "open")
        self.refresh(layout=True)

    def move(self, by: int) -> None:
        """Choose the next or the one before, round the ends."""
        if not self._offers:
            return
        self._chosen, self.moved = (self._chosen + by) % len(self._offers), True
        rows = max(1, self.size.height)
        self._first = min(max(self._first, self._chosen - rows + 1), self._chosen)
        self.refresh()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return min(len(self._offers), MOST_ROWS)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        number = self._first + y
        if number >= len(self._offers):
            return Strip.blank(width, self.rich_style)
        offer = self._offers[number]
        chosen = number == self._chosen
        style = self.get_component_rich_style("completion--chosen") if chosen else self.rich_style
        about = style if chosen else self.rich_style + self.get_component_rich_style("completion--about", partial=True)
        name = Strip([Segment(plain(offer.text), style)])
        row = Strip.join([name, Strip([Segment("  " + plain(offer.about), about)])])
        more = self._more(y)
        return Strip.join([cut_strip(row, max(0, width - cell_len(more)), style), Strip([Segment(more, about)])])

    def _more(self, y: int) -> str:
        """What the last row says of offers below it, which the arrows bring into view."""
        below = len(self._offers) - self._first - self.size.height
        return f"  {below} more ↓" if y == self.size.height - 1 and below > 0 else ""

    def on_click(self, event: events.Click) -> None:
        number = self._first + event.y
        if event.y >= 0 and number < len(self._offers):
            self.post_message(self.Picked(self._offers[number]))
