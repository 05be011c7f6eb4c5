"""Two panels that serve all purposes: a pager for text, and a picker for one of many things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from pool.facekit.plain import plain
from pool.tui.beside import BesideCloses
from pool.tui.cutting import cut_strip
from pool.tui.inorder import Line
from pool_tools.frozen import frozen

MOST_COLUMNS = 120
"""A wider panel would be hard to read."""

FRAME_CELLS = 5
"""Border, padding and scroll bar of a panel."""

_FRAME_CSS = """
    {name} {{ align: center middle; background: $background 60%; }}
    {name} > Vertical {{
        width: 100%; max-width: 120; height: auto; max-height: 90%; border: round $border-focused;
        background: $surface; padding: 0 1; border-title-color: $accent; border-subtitle-color: $muted;
    }}
"""


class Pager(BesideCloses[None]):
    """Text to read and scroll; Esc or q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "dismiss", "close", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("pagedown,space", "scroll(10)", "page down", show=False, priority=True),
        Binding("pageup", "scroll(-10)", "page up", show=False, priority=True),
    ]
    DEFAULT_CSS = (
        _FRAME_CSS.format(name="Pager")
        + "Pager VerticalScroll { height: auto; max-height: 100%; scrollbar-size-vertical: 1; }"
    )

    def __init__(self, title: str, text: RenderableType) -> None:
        """text is data: a string is shown as it stands, a `Text` or a table brings its own styles."""
        super().__init__()
        self._title = title
        self._text = Text(text) if isinstance(text, str) else text

    def compose(self) -> ComposeResult:
        box = Vertical(VerticalScroll(Static(self._text, markup=False), can_focus=False))
        box.border_title = Text(plain(self._title))
        box.border_subtitle = "Esc closes"
        yield box

    @staticmethod
    def text_cells(width: int) -> int:
        """The columns of text in a window of so many."""
        return max(1, min(width, MOST_COLUMNS) - FRAME_CELLS)

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


@frozen
class Item:
    """One thing to pick: id is what the picker returns, about stands to the right of the name."""

    id: str
    name: str
    about: str = ""


class Rows(ScrollView):
    """Items as lines; draws only those in view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--chosen", "rows--about"}
    DEFAULT_CSS = """
    Rows { height: auto; max-height: 20; scrollbar-size-vertical: 1; background: $surface; color: $text; }
    Rows > .rows--chosen { background: $selection; text-style: bold; }
    Rows > .rows--about { color: $muted; }
    """

    class Clicked(Message):
        """A line was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.can_focus = False
        self.items: Sequence[Item] = ()
        self.chosen = 0

    def show_items(self, items: Sequence[Item], chosen: int = 0) -> None:
        self.items, self.chosen = items, chosen
        self.virtual_size = Size(0, len(items))
        self.refresh(layout=True)
        self._keep_in_view()

    def move(self, by: int) -> None:
        if self.items:
            self.chosen = min(max(self.chosen + by, 0), len(self.items) - 1)
            self._keep_in_view()
            self.refresh()

    def _keep_in_view(self) -> None:
        top, height = int(self.scroll_offset.y), max(1, self.size.height)
        if self.chosen < top:
            self.scroll_to(y=self.chosen, animate=False)
        elif self.chosen >= top + height:
            self.scroll_to(y=self.chosen - height + 1, animate=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self.items))

    def render_line(self, y: int) -> Strip:
        from rich.segment import Segment

        number = y + int(self.scroll_offset.y)
        width = self.scrollable_content_region.width
        if number >= len(self.items):
            empty = Segment("nothing fits" if not self.items and y == 0 else "", self.rich_style)
            return Strip([empty]).adjust_cell_length(width, self.rich_style)
        item = self.items[number]
        style = self.rich_style
        about = style + self.get_component_rich_style("rows--about", partial=True)
        if number == self.chosen:
            style = about = self.get_component_rich_style("rows--chosen")
        name = Strip([Segment(plain(item.name), style)])
        gap = Segment("  ", style)
        return cut_strip(Strip([*name, gap, Segment(plain(item.about), about)]), width, style)

    def on_click(self, event: events.Click) -> None:
        number = event.y + int(self.scroll_offset.y)
        if number < len(self.items):
            self.chosen = number
            self.refresh()
            self.post_message(self.Clicked())


class Picker(BesideCloses[str | None]):
    """A list with a line to filter it; returns the id of what was picked, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", "next", show=False, priority=True),
        Binding("up,ctrl+p", "move(-1)", "before", show=False, priority=True),
        Binding("pagedown", "move(10)", "page down", show=False, priority=True),
        Binding("pageup", "move(-10)", "page up", show=False, priority=True),
        # Without priority: what was typed just before it is filtered by first.
        Binding("enter", "pick", "take it", show=False),
    ]
    DEFAULT_CSS = (
        _FRAME_CSS.format(name="Picker")
        + "Picker #body { height: auto; padding: 0 1; }"
        + "Picker Input, Picker Input:focus { border: none; height: 1; background: $panel; padding: 0 1; }"
    )

    def __init__(
        self,
        title: str,
        items: Sequence[Item],
        *,
        chosen: str = "",
        preview: Callable[[str], None] | None = None,
        hint: str = "Enter takes it, Esc closes",
        body: str = "",
    ) -> None:
        """preview is called with the id of each item that the choice stands on. body stands above the list, in full."""
        super().__init__()
        self._title = title
        self._body = body
        self._items = items
        self._first = next((n for n, i in enumerate(items) if i.id == chosen), 0)
        self._preview = preview
        self._hint = hint

    def compose(self) -> ComposeResult:
        words = Static(Text("\n".join(plain(line) for line in self._body.split("\n"))), id="body", markup=False)
        words.display = bool(self._body)
        box = Vertical(words, Line(placeholder="type to filter", select_on_focus=False), Rows())
        box.border_title = Text(plain(self._title))
        box.border_subtitle = self._hint
        yield box

    def on_mount(self) -> None:
        self.query_one(Rows).show_items(self._items, self._first)
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(Rows).show_items(_filtered(self._items, event.value))
        self._show_preview()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_pick()

    def action_move(self, by: int) -> None:
        self.query_one(Rows).move(by)
        self._show_preview()

    def action_pick(self) -> None:
        rows = self.query_one(Rows)
        self.dismiss(rows.items[rows.chosen].id if rows.items else None)

    def on_rows_clicked(self) -> None:
        self.action_pick()

    def _show_preview(self) -> None:
        rows = self.query_one(Rows)
        if self._preview is not None and rows.items:
            self._preview(rows.items[rows.chosen].id)


def _filtered(items: Sequence[Item], typed: str) -> Sequence[Item]:
    """Items whose name or description holds every typed word, those whose name begins with the first one in front."""
    words = typed.lower().split()
    if not words:
        return items
    hits = [i for i in items if all(w in f"{i.name} {i.about}".lower() for w in words)]
    return sorted(hits, key=lambda i: not i.name.lower().lstrip("/").startswith(words[0].lstrip("/")))
