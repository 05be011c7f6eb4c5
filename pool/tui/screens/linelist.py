"""Rows with a cursor, drawn one by one as they come into view: ten thousand cost no more than ten."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from pool.facekit.clean import clean, cut, expand
from pool.tui.cutting import cut_strip
from pool_tools.frozen import frozen

ROLES = (
    *("text", "muted", "accent", "heading", "success", "warning", "error", "tool", "border", "user", "reasoning"),
    *("added", "removed", "added-word", "removed-word"),
)
"""What a run of a row may be; each is a component class, so that every theme sets its style."""

MARK = "▌"
"""Before the row that the cursor is on: without colours it is all that tells."""

ASIDE_CELLS = 8
"""A step to the side in rows that are longer than the window."""

KEPT_ABOVE = 2
"""Rows that stay visible above a place that was jumped to."""

Run = tuple[str, str]
"""Text, which is data, and its role."""


@frozen
class Row:
    """A row: its runs, the role of the rest of the row, and how many runs at its start stay when it moves aside."""

    runs: tuple[Run, ...]
    fill: str = ""
    fixed: int = 0


class LineList(ScrollView, can_focus=True):
    """Draws rows, each asked for when it is in view. Arrows and pages move the cursor, left and right the view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*(f"line--{role}" for role in ROLES), "line--chosen", "line--mark"}
    DEFAULT_CSS = """
    LineList { height: 1fr; background: $surface; color: $text; overflow-x: hidden; scrollbar-size-vertical: 1; }
    LineList > .line--text { color: $text; }
    LineList > .line--muted { color: $muted; }
    LineList > .line--accent { color: $accent; }
    LineList > .line--heading { color: $text; text-style: bold; }
    LineList > .line--success { color: $success; }
    LineList > .line--warning { color: $warning; }
    LineList > .line--error { color: $error; }
    LineList > .line--tool { color: $tool; }
    LineList > .line--border { color: $border; }
    LineList > .line--user { color: $user; }
    LineList > .line--reasoning { color: $reasoning; }
    LineList > .line--added { color: $added; background: $added-background; }
    LineList > .line--removed { color: $removed; background: $removed-background; }
    LineList > .line--added-word { color: $added; background: $added-background; text-style: bold underline; }
    LineList > .line--removed-word { color: $removed; background: $removed-background; text-style: bold underline; }
    LineList > .line--chosen { background: $selection; }
    LineList > .line--mark { color: $border-focused; }
    """

    class Clicked(Message):
        """A row was clicked; the cursor is on it."""

        def __init__(self, row: int) -> None:
            self.row = row
            super().__init__()

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, row: int) -> None:
            self.row = row
            super().__init__()

    def __init__(self, draw: Callable[[int], Row], *, empty: str = "", id: str | None = None) -> None:
        """draw gives a row by its number; empty is said where there is none."""
        super().__init__(id=id)
        self._draw = draw
        self.empty = empty
        self.shows_cursor = True
        self.count = 0
        self.cursor = 0
        self._aside = 0

    def show_rows(self, count: int, cursor: int = 0) -> None:
        """There are so many rows now, and all may have changed."""
        self.count = count
        self.cursor = min(max(0, cursor), max(0, count - 1))
        self.virtual_size = Size(0, count)
        self.refresh()
        self.call_after_refresh(self._keep_in_view)

    def go(self, row: int, *, to_top: bool = False) -> None:
        """Put the cursor on a row. to_top: with what follows it in view, as far as there is room."""
        if not self.count:
            return
        before, self.cursor = self.cursor, min(max(0, row), self.count - 1)
        if to_top and not self._first <= self.cursor - KEPT_ABOVE <= self._first + self.size.height // 2:
            self.scroll_to(y=max(0, self.cursor - KEPT_ABOVE), animate=False)
        self._keep_in_view()
        self.refresh()
        if before != self.cursor:
            self.post_message(self.Moved(self.cursor))

    @property
    def _first(self) -> int:
        return int(self.scroll_offset.y)

    def _keep_in_view(self) -> None:
        height = max(1, self.size.height)
        if self.cursor < self._first:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= self._first + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)

    def take_key(self, key: str) -> bool:
        """Do what a key means here, for the screen, which has all keys in their order; False if it means nothing."""
        page = max(1, self.size.height - 1)
        match key:
            case "up":
                self.go(self.cursor - 1)
            case "down":
                self.go(self.cursor + 1)
            case "pageup":
                self.go(self.cursor - page)
            case "pagedown":
                self.go(self.cursor + page)
            case "home":
                self.go(0)
            case "end":
                self.go(self.count - 1)
            case "left":
                self._aside = max(0, self._aside - ASIDE_CELLS)
                self.refresh()
            case "right":
                self._aside += ASIDE_CELLS
                self.refresh()
            case _:
                return False
        return True

    def on_click(self, event: events.Click) -> None:
        row = event.y + self._first
        if row < self.count:
            if self.can_focus:
                self.focus()
            self.go(row)
            self.post_message(self.Clicked(row))

    def render_line(self, y: int) -> Strip:
        number, width = y + self._first, self.scrollable_content_region.width
        base = self.rich_style
        if number >= self.count:
            text = self.empty if not self.count and y == 0 else ""
            return Strip([Segment(f" {text}", base + self._style("muted"))]).adjust_cell_length(width, base)
        row = self._draw(number)
        here = number == self.cursor and self.shows_cursor
        over = self._style("chosen") if here else None
        fixed = self._segments(row.runs[: row.fixed], base, over)
        moving = Strip(self._segments(row.runs[row.fixed :], base, over))
        if self._aside:
            moving = moving.crop(min(self._aside, moving.cell_length))
        mark = Segment(MARK if here else " ", base + self._style("mark") if here else base)
        fill = base + self._style(row.fill) if row.fill else base
        return cut_strip(Strip([mark, *fixed, *moving]), width, fill + over if over else fill)

    def _segments(self, runs: tuple[Run, ...], base: Style, over: Style | None) -> list[Segment]:
        out: list[Segment] = []
        column = 0
        for text, role in runs:
            style = base + self._style(role)
            shown = drawn(text, column)
            column += len(shown)
            out.append(Segment(shown, style + over if over else style))
        return out

    def _style(self, role: str) -> Style:
        return self.get_component_rich_style(f"line--{role}", partial=True)


def drawn(text: str, column: int = 0) -> str:
    """A part of a line of data as it is drawn from a column on: no line ends, tabs, or what a terminal would obey."""
    return cut(expand(" " * column + clean(text).replace("\n", " "))[column:])
