"""The line-API base of the transcript: what is drawn where, following the end, keeping still while heights change."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from pool.tui.transcript.block import SIDE_BY_SIDE_CELLS, Layout
from pool.tui.transcript.frames import Pace
from pool.tui.transcript.lines import Line, drawn
from pool.tui.transcript.messages import TailChanged
from pool.tui.transcript.overlay import Overlay, laid_over
from pool.tui.transcript.palette import CLASSES, CSS, palette
from pool.tui.transcript.store import Entry, Store

if TYPE_CHECKING:
    from textual.reactive import Reactive

    from pool.tui.transcript.finder import Finder
    from pool.tui.transcript.selection import Selection

MARGIN_CELLS = 2
"""Cells left of each row: the mark of a prompt or of the chosen block, and a blank."""

BAR_STEPS = 8
"""How finely Textual draws a scroll bar, in parts of a cell."""

LEAST_WAIT_SECONDS = 0.001
"""Timers of Textual want some time."""

TICK_SECONDS = 1.0
"""How often running times are drawn anew."""


class TranscriptView(ScrollView, can_focus=True):
    """Draws a store's entries. Everything that changes is marked, and drawn at the next frame.

    diff_cells is the room from which on diffs are side by side; it is set before the first layout.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = set(CLASSES)
    DEFAULT_CSS = CSS
    ALLOW_SELECT = False
    FOCUS_ON_CLICK: ClassVar[bool] = False
    """Whoever clicks on a path or folds a card goes on writing in the box; Ctrl+Up walks here by keys."""

    def __init__(self, *, code_style: str = "", id: str | None = None) -> None:
        super().__init__(id=id)
        self.store = Store()
        self.follows = True
        self.new_below = False
        self.chosen: Entry | None = None
        self.selection: Selection | None = None
        self.finder: Finder | None = None
        self.diff_cells = SIDE_BY_SIDE_CELLS
        self._code_style = code_style
        self._dirty: dict[int, tuple[Entry, Sequence[Line] | None]] = {}
        """What changed since the last frame, with the rows that the screen still shows of it."""
        self._pace = Pace()
        self._timer: Timer | None = None
        self._tick: Timer | None = None
        self._live: set[Entry] = set()
        self._moving = False
        self._held = False
        self._base = Style.null()
        self._bar = (0, 0, 0)

    # -- set-up, size and theme

    def on_mount(self) -> None:
        self._tick = self.set_interval(TICK_SECONDS, self._ticked, pause=not self._live)
        self._relayout()

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """Textual lays the screen out anew, and moves the view to what it takes for the last row: nobody scrolled."""
        before = self.scroll_offset.y
        with self._moved_by_us():
            changed = super()._size_updated(size, virtual_size, container_size, layout)
        if self.store.is_ready and self.size and self.scroll_offset.y != before and not self.follows:
            self._move_to(before)
        return changed

    def on_resize(self, event: events.Resize) -> None:
        self._relayout()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_attached:
            self.call_next(self._relayout)

    @property
    def code_style(self) -> str:
        """The Pygments style of code, "" for the theme's own shades."""
        return self._code_style

    @code_style.setter
    def code_style(self, name: str) -> None:
        self._code_style = name
        if self.is_attached:
            self._relayout()

    def _relayout(self) -> None:
        """Lay out for another width or theme, if there is one. The row at the top stays where it is."""
        width = max(2, self._row_cells - MARGIN_CELLS)
        look = palette(lambda name: self.get_component_rich_style(name, partial=True), self._code_style)
        store, base = self.store, self.rich_style
        if base != self._base:
            self._base = base
            self.refresh()
        if not self.size or (store.is_ready and (store.at.width, store.at.palette) == (width, look)):
            self._sync()
            return
        index, share = 0, 0.0
        if store.is_ready and len(store):
            index, offset = store.heights.locate(self.scroll_offset.y)
            share = offset / max(1, store.heights[index])
            if width != store.at.width:
                self.selection = None
        store.set_layout(Layout(width, look, time.monotonic(), self.diff_cells))
        if self.follows or not len(store):
            self._sync()
        else:
            store.rows(store.entries[index])
            self._move_to(store.heights.top(index) + int(share * store.heights[index]))
        self.refresh()

    # -- frames

    def mark(self, entry: Entry, *, soon: bool = False) -> None:
        """An entry changed; it is drawn anew at the next frame. soon: that frame need not wait its turn."""
        if not self.store.has(entry):
            return
        self.store.touch(entry)
        self._dirty.setdefault(entry.index, (entry, entry.rows))
        if entry.block.is_live:
            self._live.add(entry)
            if self._tick is not None:
                self._tick.resume()
        self._ask_frame(soon=soon)

    @property
    def is_drawn(self) -> bool:
        """Whether a frame is awaited no more: all that changed is drawn."""
        return self._timer is None and not self._dirty

    def _ask_frame(self, *, soon: bool = False) -> None:
        if soon and self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._timer is None and self.is_attached:
            wait = 0.0 if soon else self._pace.delay(time.monotonic())
            self._timer = self.set_timer(max(LEAST_WAIT_SECONDS, wait), self._frame)

    def _frame(self) -> None:
        self._timer = None
        if not self.store.is_ready or not self.size:
            return
        start = time.monotonic()
        self.store.set_now(start)
        dirty = list(self._dirty.values())
        self._dirty.clear()
        index, offset = self.store.heights.locate(self.scroll_offset.y)
        changed = [self._changed_from(entry, rows) for entry, rows in dirty]
        before = self.scroll_offset.y
        self._sync(self.store.heights.top(index) + offset, grown=True)
        if self.scroll_offset.y == before and changed:
            top = max(0, min(changed) - before)
            if top < self.size.height:
                self._refresh_rows(top)
        self.call_after_refresh(lambda: self._pace.drawn(start, time.monotonic()))

    def _changed_from(self, entry: Entry, old: Sequence[Line] | None) -> int:
        """The first row of the whole that may look different from what the screen shows of an entry.

        Not what the entry's rows were until now: a change of the window's height lays out without a frame.
        """
        if entry.rows is None or not old:
            return self.store.row_of(entry, -1)
        return self.store.row_of(entry, _same(old, self.store.rows(entry)))

    def _ticked(self) -> None:
        for entry in list(self._live):
            if entry.block.is_live:
                self.mark(entry)
            else:
                self._live.discard(entry)
        if not self._live and self._tick is not None:
            self._tick.pause()

    # -- the view

    def _sync(self, row: int | None = None, *, grown: bool = False) -> None:
        """Make heights exact where they show, the scroll bar true, and stay at the end while following.

        row is where the view now begins if blocks above it changed. grown: what changed may be news.
        """
        store = self.store
        if not store.is_ready:
            return
        if self.follows and not self._held:
            store.settle_end(self.size.height)
            self._move_to(store.heights.total)
            return
        self._move_to(self.scroll_offset.y if row is None else row)
        if grown and not self.follows and not self.new_below and not self._is_at_end():
            self.new_below = True
            self.post_message(TailChanged(self.follows, self.new_below))

    def _is_at_end(self) -> bool:
        return self.scroll_offset.y >= self.store.heights.total - self.size.height

    def _move_to(self, row: int) -> None:
        """Show the view that begins at row, as far as there is that much."""
        store, height = self.store, self.size.height
        with self._moved_by_us():
            top = max(0, min(row, store.heights.total - height))
            for _ in range(3):  # a second time only if heights shrank so that the end came into view
                top = store.settle(top, height)
                if top <= (last := max(0, store.heights.total - height)):
                    break
                top = last
            self._set_total(top)
            if top != self.scroll_y:
                self.scroll_y = top
            self.scroll_target_y = top

    def _set_total(self, top: int) -> None:
        """Tell how much there is. Nothing else depends on it, so no layout of the screen is needed.

        The scroll bar is drawn anew only if it would look different: it has eight steps for each of its cells.
        """
        total, height = self.store.heights.total, self.size.height
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), Size(self.size.width, total))
        steps = BAR_STEPS * height
        looks = (height, steps * height // max(1, total), steps * top // max(1, total))
        if looks != self._bar:
            self._bar = looks
            bar = self.vertical_scrollbar
            bar.window_virtual_size, bar.window_size, bar.position = total, height, top

    @contextmanager
    def _moved_by_us(self) -> Generator[None]:
        was, self._moving = self._moving, True
        try:
            yield
        finally:
            self._moving = was

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        old, new = round(old_value), round(new_value)
        if old != new:
            self._refresh_rows()
        if not self._moving and self.store.is_ready:
            if not new and old - new > self.size.height and len(self.store):
                self.store.rows(self.store.entries[0])
            self._move_to(new)
            self._set_follow(self._is_at_end())

    def _set_follow(self, follows: bool) -> None:
        if follows != self.follows or (follows and self.new_below):
            self.follows, self.new_below = follows, self.new_below and not follows
            self.post_message(TailChanged(self.follows, self.new_below))

    # -- drawing

    @property
    def _row_cells(self) -> int:
        """How wide a row is: all but the scroll bar."""
        return max(0, self.size.width - self.scrollbar_size_vertical)

    def _refresh_rows(self, top: int = 0) -> None:
        """Draw the rows of the view anew from top on. The scroll bar looks after itself."""
        self.refresh(Region(0, top, self._row_cells, self.size.height - top))

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of a part of the widget, straight from the lines' own strips where there is nothing to add.

        Textual copies each row on the way, for borders and the like, at every frame.
        """
        if crop.column_span != (0, self._row_cells) or self.styles.gutter or self.opacity != 1:
            return super().render_lines(crop)
        background = self.background_colors[1]
        strips = [self.render_line(y) for y in crop.line_range]
        for change in self.get_line_filters():
            strips = [strip.apply_filter(change, background) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        store, width, base = self.store, self._row_cells, self._base
        found = store.line(y + self.scroll_offset.y) if store.is_ready else None
        if found is None:
            return Strip.blank(width, base)
        entry, number = found
        rows = store.rows(entry)
        if not 0 <= number < len(rows):
            return Strip.blank(width, base)
        row = rows[number]
        margin = self._margin(entry)
        overlays = self._overlays(entry, rows, number)
        if not overlays:
            return row.strip(width, margin, base)
        return drawn([margin, *laid_over(row.segments, overlays)], width, base, row.fill)

    def _margin(self, entry: Entry) -> Segment:
        look = self.store.at.palette
        if entry is self.chosen and self.has_focus:
            return Segment("▐ ", look.user + look.focus if entry.block.bar else look.focus)
        return Segment("▌ ", look.user_bar) if entry.block.bar else Segment("  ", look.text)

    def _overlays(self, entry: Entry, rows: Sequence[Line], number: int) -> list[Overlay]:
        look, row = self.store.at.palette, rows[number]
        out: list[Overlay] = []
        if self.finder is not None:
            for start, end, current in self.finder.spans(entry.index, rows, number):
                out.append((start, end, look.match_current if current else look.match))
        if self.selection is not None:
            span = self.selection.span(entry.index, number, len(row.drawn))
            if span and span[1] > row.gutter:
                out.append((max(span[0], row.gutter), span[1], look.selection))
        return out


def _same(old: Sequence[Line], new: Sequence[Line]) -> int:
    """How many rows at the start are the very same."""
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        if before is not after:
            return number
    return min(len(old), len(new))
