"""The page that is shown when there is no model server yet: what was tried, and what can be done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from pool.facekit.approving import SETTLE_SECONDS
from pool.tui.beside import BesideCloses
from pool.tui.completion import plain
from pool.tui.panels import Item, Rows
from pool_tools.frozen import frozen

KEY_GAP = 2


@frozen
class Way:
    """Something that can be done: its key, its words, and what it is called where it is answered."""

    key: str
    words: str
    name: str


class StartPage(BesideCloses[str]):
    """Returns the name of the chosen way, "" if the page was closed. All texts are data."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", "next", show=False),
        Binding("up,ctrl+p", "move(-1)", "before", show=False),
        Binding("pagedown", "scroll(5)", "page down", show=False),
        Binding("pageup", "scroll(-5)", "page up", show=False),
        Binding("enter", "pick", "take it", show=False),
    ]
    DEFAULT_CSS = """
    StartPage { align: center middle; background: $background 60%; }
    StartPage > Vertical {
        width: 90%; max-width: 90; height: auto; max-height: 90%; border: round $border-focused;
        background: $surface; padding: 1 2; border-title-color: $accent; border-subtitle-color: $muted;
    }
    StartPage VerticalScroll { height: auto; max-height: 70%; margin: 0 0 1 0; }
    StartPage Static { height: auto; color: $text; background: $surface; }
    """

    def __init__(self, title: str, text: Text | str, ways: Sequence[Way]) -> None:
        super().__init__()
        self._title = title
        self._text = Text(text) if isinstance(text, str) else text
        self._ways = ways
        self._shown = 0.0

    def compose(self) -> ComposeResult:
        box = Vertical(VerticalScroll(Static(self._text, markup=False), can_focus=False), Rows())
        box.border_title = Text(plain(self._title))
        box.border_subtitle = "a letter or Enter takes it, Esc closes"
        yield box

    def on_mount(self) -> None:
        items = [Item(way.name, f"{way.key}{' ' * KEY_GAP}{way.words}") for way in self._ways]
        self.query_one(Rows).show_items(items)
        self._shown = time.monotonic()

    def on_key(self, event: events.Key) -> None:
        for way in self._ways:
            if event.character == way.key and self.ready:
                event.stop()
                self.dismiss(way.name)

    def action_move(self, by: int) -> None:
        self.query_one(Rows).move(by)

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_pick(self) -> None:
        if self.ready:
            self.dismiss(self._ways[self.query_one(Rows).chosen].name)

    @property
    def ready(self) -> bool:
        """Whether a key can be meant for the page: one that was on its way when it came is not."""
        return time.monotonic() - self._shown > SETTLE_SECONDS

    def came_too_soon(self) -> None:
        """A letter came before any counts: the next ones are no answers either."""
        self._shown = time.monotonic()

    def open_words(self, key: str) -> bool:
        """Open a line for words: no letter does."""
        return False

    def on_rows_clicked(self) -> None:
        self.action_pick()
