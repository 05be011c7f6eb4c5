"""The blocks of a transcript with their rows: laid out when they are looked at, forgotten when there are too many.

A block that was not laid out yet has an estimated height. Getting its rows makes the height exact, and says by how
much it changed, so that the view can stay where it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.heights import Heights
from pool.tui.transcript.lines import Line

KEPT_ROWS = 6_000
"""Rows of finished blocks that are kept; at 2 KB each this is 12 MB."""


@dataclass(slots=True, eq=False)
class Entry:
    """A block in its place. open: it may still change. rows are those of the block, without the gap before it."""

    block: Block
    index: int
    open: bool = False
    rows: Sequence[Line] | None = None
    stale: bool = False


class Store:
    """All entries in order. A height counts the empty row before a block, where there is one."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.heights = Heights()
        self._at: Layout | None = None
        self._kept: OrderedDict[int, int] = OrderedDict()
        self._kept_rows = 0

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def at(self) -> Layout:
        """What rows are laid out for."""
        assert self._at is not None, "the transcript has no width yet"
        return self._at

    @property
    def is_ready(self) -> bool:
        """Whether rows can be had."""
        return self._at is not None

    def set_layout(self, at: Layout) -> None:
        """Lay everything out anew for another width or palette, when it is looked at."""
        self._at = at
        self._kept.clear()
        self._kept_rows = 0
        for entry in self.entries:
            if entry.rows is not None:
                entry.rows = None
                if not entry.open:
                    entry.block.release()
        self.heights = Heights()
        for entry in self.entries:
            self.heights.append(self._estimate(entry))

    def set_now(self, now: float) -> None:
        """Set the time that live blocks show."""
        if self._at is not None:
            self._at = replace(self._at, now=now)

    def add(self, block: Block, *, open_: bool) -> Entry:
        """Add a block at the end."""
        entry = Entry(block, len(self.entries), open_)
        self.entries.append(entry)
        self.heights.append(self._estimate(entry))
        return entry

    def has(self, entry: Entry) -> bool:
        """Whether an entry is one of this store's, and not of one that was cleared."""
        return entry.index < len(self.entries) and self.entries[entry.index] is entry

    def replace(self, entry: Entry, block: Block) -> None:
        """Put another block in an entry's place."""
        entry.block = block
        if entry.rows is None and self.has(entry):
            self.heights.set(entry.index, self._estimate(entry))
        self.touch(entry)

    def forget(self, entry: Entry) -> None:
        """An entry that may be out of sight changed its height: lay it out when it is looked at."""
        entry.rows = None
        self._kept_rows -= self._kept.pop(entry.index, 0)
        self.heights.set(entry.index, self._estimate(entry))

    def touch(self, entry: Entry) -> None:
        """An entry changed: its rows are old."""
        entry.stale = True

    def rows(self, entry: Entry) -> Sequence[Line]:
        """An entry's rows, up to date."""
        if entry.rows is None or entry.stale:
            entry.rows = entry.block.layout(self.at)
            entry.stale = False
            self._keep(entry)
            self._measure(entry)
        elif entry.index in self._kept:
            self._kept.move_to_end(entry.index)
        return entry.rows

    def gap(self, entry: Entry) -> int:
        """Empty rows before an entry: 0 or 1."""
        before = self._shown_before(entry.index)
        return 0 if before is None or (before.block.is_tight and entry.block.is_tight) else 1

    def _shown_before(self, index: int) -> Entry | None:
        while index:
            index -= 1
            if self.heights[index]:
                return self.entries[index]
        return None

    def _measure(self, entry: Entry) -> None:
        assert entry.rows is not None
        shown_before = self.heights[entry.index] > 0
        count = len(entry.rows)
        self.heights.set(entry.index, count + self.gap(entry) if count else 0)
        if shown_before != (count > 0) and entry.index + 1 < len(self.entries):
            following = self.entries[entry.index + 1]
            if following.rows:
                self.heights.set(following.index, len(following.rows) + self.gap(following))

    def _estimate(self, entry: Entry) -> int:
        width = self._at.width if self._at is not None else 80
        rows = entry.block.estimate(width)
        return rows + (1 if rows and entry.index else 0)

    def _keep(self, entry: Entry) -> None:
        """Note that an entry's rows are held; forget the oldest ones that are too many."""
        assert entry.rows is not None
        self._kept_rows += len(entry.rows) - self._kept.pop(entry.index, 0)
        self._kept[entry.index] = len(entry.rows)
        while self._kept_rows > KEPT_ROWS and len(self._kept) > 1:
            index, count = self._kept.popitem(last=False)
            old = self.entries[index]
            if old.open or old is entry:
                self._kept[index] = count
                if all(self.entries[i].open for i in self._kept):
                    break
                continue
            self._kept_rows -= count
            old.rows = None
            old.block.release()

    def settle(self, row: int, height: int) -> int:
        """Lay out what shows in a view of height rows from row on; gives the row at which that view now begins.

        The row at the top stays the one that it was: rows that appear or vanish above it move the view along.
        """
        if not self.entries:
            return 0
        index, offset = self.heights.locate(row)
        first = self.entries[index]
        below = self.heights[index] - offset
        was_known = first.rows is not None
        self.rows(first)
        if not was_known:
            offset = max(0, self.heights[index] - below)
        top = self.heights.top(index) + min(offset, max(0, self.heights[index] - 1))
        reached = self.heights.top(index) + self.heights[index]
        while reached < top + height and index + 1 < len(self.entries):
            index += 1
            self.rows(self.entries[index])
            reached += self.heights[index]
        return top

    def settle_end(self, height: int) -> None:
        """Lay out what shows in a view of height rows at the end."""
        seen = 0
        for entry in reversed(self.entries):
            self.rows(entry)
            seen += self.heights[entry.index]
            if seen >= height:
                break

    def line(self, row: int) -> tuple[Entry, int] | None:
        """The entry and the number of the line in it at a row; -1 for the gap before it. None beyond the end."""
        if not self.entries or row >= self.heights.total:
            return None
        index, offset = self.heights.locate(row)
        entry = self.entries[index]
        return entry, offset - self.gap(entry)

    def row_of(self, entry: Entry, number: int = 0) -> int:
        """The row at which line number of an entry stands."""
        return self.heights.top(entry.index) + (self.gap(entry) if self.heights[entry.index] else 0) + number

    def shown(self, start: int, step: int) -> Iterator[Entry]:
        """The entries from index start on in steps of 1 or -1, those that show nothing left out."""
        while 0 <= start < len(self.entries):
            if self.heights[start]:
                yield self.entries[start]
            start += step
