"""The mouse on the transcript: selecting by dragging and by clicks, folding, paths and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.timer import Timer

from pool.tui.transcript.messages import CopyRequested, PathClicked, UrlClicked
from pool.tui.transcript.selection import Point, Selection, selected_text
from pool.tui.transcript.store import Entry
from pool.tui.transcript.view import MARGIN_CELLS, TranscriptView

if TYPE_CHECKING:
    from pool.tui.transcript.textat import Place

DRAG_SCROLL_SECONDS = 0.05
"""How often the view moves by a row while the mouse selects beyond its edge."""


class TranscriptPointer(TranscriptView):
    """Adds the mouse. Points are kept by block and row, so that text that arrives does not move a selection."""

    def __init__(self, *, code_style: str = "", id: str | None = None) -> None:
        super().__init__(code_style=code_style, id=id)
        self._anchor: Point | None = None
        self._dragged = False
        self._drag_step = 0
        self._drag_place = (0, 0)
        self._drag_timer: Timer | None = None

    @property
    def selected_text(self) -> str:
        """The selected text without padding or soft wraps, "" if nothing is selected."""
        return selected_text(self.store, self.selection) if self.selection is not None else ""

    def fold(self, handle: Entry, folded: bool | None = None, part: int = 0) -> bool:
        """Fold or open a block, or code block number part in it; None turns it. False if there is nothing to fold."""
        if not handle.block.fold(part, folded):
            return False
        self.selection = None
        self.mark(handle)
        return True

    def _go(self, row: int) -> None:
        """Show the view that begins at row, as a person asked."""
        self._move_to(row)
        self._set_follow(self._is_at_end())

    def _point(self, x: int, y: int) -> Point | None:
        """The point under a cell of the widget."""
        from pool.tui.transcript.textat import column_at

        store = self.store
        if not store.is_ready or not len(store):
            return None
        row = self.scroll_offset.y + min(max(y, 0), self.size.height - 1)
        found = store.line(min(row, store.heights.total - 1))
        if found is None:
            return None
        entry, number = found
        rows = store.rows(entry)
        if row >= store.heights.total:
            return Point(entry.index, len(rows), 0)
        if number < 0:
            return Point(entry.index, -1, 0)
        return Point(entry.index, number, column_at(rows[number], x - MARGIN_CELLS))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        self._dragged = False
        point = self._point(event.x, event.y)
        if self.selection is not None:
            self.selection = None
            self.refresh()
        if point is not None:
            self.capture_mouse()
            self._anchor = point
            self._held = True

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._anchor is None:
            return
        self._drag_to(event.x, event.y)
        self._drag_place = (event.x, event.y)
        self._drag_on_from_edge(-1 if event.y < 0 else 1 if event.y >= self.size.height else 0)

    def _drag_to(self, x: int, y: int) -> None:
        point = self._point(x, y)
        if point is not None and self._anchor is not None and (point != self._anchor or self._dragged):
            self._dragged = True
            self.selection = Selection(self._anchor, point)
            self.refresh()

    def _drag_on_from_edge(self, step: int) -> None:
        """Move on by step rows again and again while the mouse is held beyond an edge; 0 ends it."""
        self._drag_step = step
        if step and self._drag_timer is None:
            self._drag_timer = self.set_interval(DRAG_SCROLL_SECONDS, self._drag_on)
        elif not step and self._drag_timer is not None:
            self._drag_timer.stop()
            self._drag_timer = None

    def _drag_on(self) -> None:
        if self._anchor is not None and self._drag_step:
            self._go(self.scroll_offset.y + self._drag_step)
            self._drag_to(*self._drag_place)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._anchor is None:
            return
        self._anchor = None
        self._held = False
        self._drag_on_from_edge(0)
        self._ask_frame()
        self.release_mouse()
        if self._dragged and self.selected_text:
            self.post_message(CopyRequested(self.selected_text, selected=True))

    def on_click(self, event: events.Click) -> None:
        point = self._point(event.x, event.y)
        if self._dragged or point is None or event.button != 1:
            return
        entry = self.store.entries[point.entry]
        rows = self.store.rows(entry)
        if not 0 <= point.row < len(rows):
            return
        if event.chain == 1:
            self._clicked(entry, point)
        else:
            self._select_around(entry, point, whole=event.chain > 2)

    def _clicked(self, entry: Entry, point: Point) -> None:
        row = self.store.rows(entry)[point.row]
        self.chosen = entry
        self.refresh()
        action = next((what for start, end, what in row.spots if start <= point.column < end), row.action)
        verb, _, part = action.partition(":")
        if verb == "copy":
            self.post_message(CopyRequested(entry.block.source(int(part)), selected=False))
        elif place := self._place(entry, point):
            message = UrlClicked(place.path) if place.is_url else PathClicked(place.path, place.line, place.column)
            self.post_message(message)
        elif verb == "fold":
            self.fold(entry, None, int(part or 0))

    def toggle_at(self, y: int) -> bool:
        """Fold or open what stands at row y of the view. False if nothing there can be."""
        point = self._point(0, y)
        if point is None:
            return False
        entry = self.store.entries[point.entry]
        rows = self.store.rows(entry)
        action = rows[point.row].action if 0 <= point.row < len(rows) else ""
        return self.fold(entry, None, int(action.partition(":")[2] or 0))

    def _place(self, entry: Entry, point: Point) -> Place | None:
        from pool.tui.transcript.textat import logical, place_at

        rows = self.store.rows(entry)
        row = rows[point.row]
        if not row.gutter <= point.column < len(row.drawn):
            return None
        found = logical(rows, point.row)
        return place_at(found.text, found.starts[point.row - found.first] + point.column - row.gutter)

    def _select_around(self, entry: Entry, point: Point, *, whole: bool) -> None:
        """Select the word at a point, or the whole line of text."""
        from pool.tui.transcript.textat import logical, word_at

        rows = self.store.rows(entry)
        found = logical(rows, point.row)
        at = found.starts[point.row - found.first] + max(0, point.column - rows[point.row].gutter)
        start, end = (0, len(found.text)) if whole else word_at(found.text, at)
        ends: list[Point] = []
        for place in (start, end):
            part = max(i for i, begin in enumerate(found.starts) if begin <= place)
            number = found.first + part
            column = min(place - found.starts[part] + rows[number].gutter, len(rows[number].drawn))
            ends.append(Point(entry.index, number, column))
        self.selection = Selection(*ends)
        self.refresh()
        if text := self.selected_text:
            self.post_message(CopyRequested(text, selected=True))
