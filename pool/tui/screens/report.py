"""A panel of rows to read: laid out for the width, scrolled by keys and wheel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from pool.tui.screens.frame import PanelScreen, frame_css
from pool.tui.screens.keyline import Hint, KeyLine
from pool.tui.screens.linelist import LineList, Row

Build = Callable[[int], Sequence[Row]]
"""Rows for a width in cells."""

SCROLL = {"up": -1, "k": -1, "down": 1, "j": 1}


class ReportScreen(PanelScreen[str | None]):
    """Shows what build gives. more are keys that close it and return their command."""

    DEFAULT_CSS = frame_css("ReportScreen")

    def __init__(self, title: str, build: Build, more: Sequence[tuple[str, str, str]] = ()) -> None:
        """more are keys, with what they do and the command that is returned."""
        super().__init__()
        self._title = title
        self._build = build
        self._more = {key: command for key, _, command in more}
        hints: list[Hint] = [(key, words) for key, words, _ in more]
        self._rows: Sequence[Row] = ()
        self.list = LineList(lambda n: self._rows[n])
        self.list.can_focus = self.list.shows_cursor = False
        self.keys = KeyLine([*hints, ("↑ ↓", "scroll"), ("Esc", "close")])

    def compose(self) -> ComposeResult:
        box = Vertical(self.list, self.keys)
        box.border_title = Text(self._title)
        yield box

    def on_resize(self) -> None:
        # The frame, the column of the cursor's mark and the scroll bar.
        self._rows = self._build(max(10, self.size.width - 4))
        self.list.show_rows(len(self._rows))

    def on_key(self, event: events.Key) -> None:
        key = event.key
        page = max(1, self.list.size.height - 1)
        by = {"pageup": -page, "pagedown": page, "space": page, **SCROLL}.get(key)
        if by is not None:
            self.list.scroll_relative(y=by, animate=False)
        elif key == "home":
            self.list.scroll_home(animate=False)
        elif key == "end":
            self.list.scroll_end(animate=False)
        elif key == "q":
            self.dismiss(None)
        elif key in self._more:
            self.dismiss(self._more[key])
        else:
            return
        event.stop()
        event.prevent_default()


def facts(pairs: Sequence[tuple[str, str]], width: int, label_cells: int = 16) -> list[Row]:
    """Labels and values; long values go on below. The labels' column is as wide as they need, or label_cells."""
    label_cells = max(label_cells, *(len(label) + 2 for label, _ in pairs)) if pairs else label_cells
    room = max(10, width - label_cells)
    out: list[Row] = []
    for label, value in pairs:
        for number, part in enumerate(wrapped(value, room)):
            head = label if number == 0 else ""
            out.append(Row(((f"{head:<{label_cells}}", "muted"), (part, "text"))))
    return out


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most width characters, broken at blanks where there are any."""
    import textwrap

    lines = [part for line in text.split("\n") for part in textwrap.wrap(line, width) or [""]]
    return lines or [""]


def heading(text: str) -> Row:
    """A title within a report."""
    return Row(((text, "heading"),))


BLANK = Row(())
