"""Searching the transcript: from match to match, over blocks that were not laid out yet too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pool.tui.transcript.lines import Line
from pool.tui.transcript.store import Entry, Store
from pool.tui.transcript.textat import logical

_NO_WORD = re.compile(r"\W+")


class Match(NamedTuple):
    """A match: the entry's index, the row it begins in, and the character of that row's text (after its gutter)."""

    entry: int
    row: int
    column: int


class Finder:
    """One search, without regard to case."""

    def __init__(self, store: Store, query: str) -> None:
        self.query = query
        self.current: Match | None = None
        self._store = store
        self._pattern = re.compile(re.escape(query), re.IGNORECASE)
        self._core = _NO_WORD.sub("", query).lower()

    def go(self, step: int, start: int) -> Match | None:
        """The next match downwards (step 1) or upwards (-1); the first one is looked for from entry start on.

        Folded text is searched too and opened where it has the match. Goes round at the ends.
        """
        entries = self._store.entries
        if not entries or not self.query:
            return None
        index = self.current.entry if self.current else start
        for number in range(len(entries) + 1):
            entry = entries[(index + step * number) % len(entries)]
            found = self._in(entry)
            if number == 0 and self.current:
                found = [m for m in found if (m > self.current if step > 0 else m < self.current)]
            if found:
                self.current = found[0] if step > 0 else found[-1]
                return self.current
        return self.current

    def _in(self, entry: Entry) -> list[Match]:
        if not self._store.heights[entry.index] or not self._may_have(entry):
            return []
        found = self.matches(entry.index, self._store.rows(entry))
        if not found and entry.block.is_folded and entry.block.fold(0, False):
            self._store.touch(entry)
            found = self.matches(entry.index, self._store.rows(entry))
            if not found:
                entry.block.fold(0, True)
                self._store.touch(entry)
        return found

    def _may_have(self, entry: Entry) -> bool:
        """Whether the source has the query's letters in a row; the picture may have other signs between them."""
        return not self._core or self._core in _NO_WORD.sub("", entry.block.source()).lower()

    def matches(self, index: int, rows: Sequence[Line]) -> list[Match]:
        """All matches in an entry's rows, in order."""
        out: list[Match] = []
        number = 0
        while number < len(rows):
            found = logical(rows, number)
            for match in self._pattern.finditer(found.text):
                part = max(i for i, start in enumerate(found.starts) if start <= match.start())
                out.append(Match(index, found.first + part, match.start() - found.starts[part]))
            number = found.first + len(found.starts)
        return out

    def spans(self, index: int, rows: Sequence[Line], number: int) -> list[tuple[int, int, bool]]:
        """What to mark in a row: start and end as its characters, gutter included; whether it is the current match."""
        found, row = logical(rows, number), rows[number]
        begin = found.starts[number - found.first]
        out: list[tuple[int, int, bool]] = []
        for match in self._pattern.finditer(found.text):
            first, last = max(match.start() - begin, 0), min(match.end() - begin, len(row.text))
            if first < last:
                part = max(i for i, start in enumerate(found.starts) if start <= match.start())
                here = Match(index, found.first + part, match.start() - found.starts[part])
                out.append((first + row.gutter, last + row.gutter, here == self.current))
        return out
