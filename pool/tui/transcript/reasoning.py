"""The model's thinking: one line with seconds and tokens while it lasts, folded when it is done."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pool.config.interface import ReasoningView
from pool.facekit.clean import Cleaner, clean, one_line
from pool.facekit.words import duration
from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.lines import Line, line, prefixed
from pool.tui.transcript.plaintext import text_rows
from pool.tui.transcript.wrap import fit

CHARS_PER_TOKEN = 3.6
"""For counts that the server has not given, shown with ~: English and code, Laguna's tokenizer."""

LIVE_ROWS = 10
"""Rows shown of an open thought while it is written."""

MOST_LINES = 2_000
"""Lines shown of an opened thought; copying the block gives all."""

TAIL_CHARS = 2_000
"""How much of the end is looked at while the thought is written."""

LEAST_TAIL_CELLS = 16
"""With less room on the live line, its end of the thought is left out."""


class Reasoning(Block):
    """A thought. started is on the monotonic clock; one from a log is done, and its seconds may be unknown (0)."""

    is_tight = True

    def __init__(
        self, text: str = "", *, show: ReasoningView = ReasoningView.LINE, started: float = 0.0, done: bool = False
    ) -> None:
        self._chunks = [clean(text) if done else text]
        self._chars = len(text)
        self._cleaner = Cleaner()
        self._show = show
        self._started = started or time.monotonic()
        self._seconds = 0.0
        self._tokens = 0
        self._folded: bool | None = None
        self.is_live = not done

    def append(self, text: str) -> None:
        self._chars += len(text)
        self._chunks.append(self._cleaner.feed(text))

    def finish(self) -> None:
        if self.is_live:
            self.is_live = False
            self._chunks.append(self._cleaner.end())
            self._seconds = time.monotonic() - self._started

    def measured(self, tokens: int, seconds: float | None = None) -> None:
        """Take the server's count (0: none), and the seconds where they are known better."""
        self._tokens = tokens
        self._seconds = self._seconds if seconds is None else seconds

    def show(self, show: ReasoningView) -> None:
        """Change how much is shown."""
        self._show, self._folded = show, None

    def source(self, part: int = 0) -> str:
        if len(self._chunks) > 1:
            self._chunks = ["".join(self._chunks)]
        return self._chunks[0]

    @property
    def is_folded(self) -> bool:
        return self._folded if self._folded is not None else not (self.is_live and self._show is ReasoningView.OPEN)

    def fold(self, part: int, folded: bool | None) -> bool:
        self._folded = not self.is_folded if folded is None else folded
        return True

    def layout(self, at: Layout) -> Sequence[Line]:
        if self._show is ReasoningView.HIDDEN and self._folded is not False:
            return []
        head = self._head(at)
        if self.is_folded:
            return [head]
        if self.is_live:
            lines = self._tail().split("\n")[-LIVE_ROWS:]
            rows = text_rows("\n".join(lines), at.narrower(2), at.palette.reasoning)[-LIVE_ROWS:]
        else:
            rows = self._all(at)
        bar = [("│ ", at.palette.border)]
        return [head, *prefixed(rows, bar, bar)]

    def _all(self, at: Layout) -> list[Line]:
        lines = self.source().strip("\n").split("\n")
        hidden = len(lines) - MOST_LINES
        rows = text_rows("\n".join(lines[:MOST_LINES]), at.narrower(2), at.palette.reasoning)
        if hidden > 0:
            rows.append(line((f"… {hidden:,} more lines; copying this block gives them", at.palette.muted), whole=""))
        return rows

    def _head(self, at: Layout) -> Line:
        look = at.palette
        seconds = at.now - self._started if self.is_live else self._seconds
        tokens = f"{self._tokens:,} tokens" if self._tokens else f"~{self._chars / CHARS_PER_TOKEN:,.0f} tokens"
        time_ = f" {duration(seconds)}" if seconds >= 1 else ""
        verb = "Thinking" if self.is_live else "Thought for" if time_ else "Thought"
        words = f"{verb}{time_} · {tokens}"
        mark = "▸ " if self.is_folded else "▾ "
        head = line((mark, look.muted), (words, look.reasoning), action="fold", whole="")
        head.gutter = len(head.drawn)
        room = at.width - len(head.drawn) - 2
        if self.is_live and self.is_folded and room >= LEAST_TAIL_CELLS:
            words = one_line(self._tail()[-4 * room :])
            end = "  " + _end(words, room)
            head = line(
                (mark, look.muted), (head.drawn[2:], look.reasoning), (end, look.muted), action="fold", whole=""
            )
            head.gutter = len(head.drawn)
        return head

    def _tail(self) -> str:
        """The end of the text."""
        length, chunks = 0, self._chunks
        for number in range(len(chunks) - 1, -1, -1):
            length += len(chunks[number])
            if length >= TAIL_CHARS:
                return "".join(chunks[number:])[-TAIL_CHARS:]
        return "".join(chunks)

    def estimate(self, width: int) -> int:
        return 1 if self.is_folded else min(super().estimate(width), MOST_LINES)


def _end(text: str, room: int) -> str:
    """The last words of text that fit into room cells."""
    words = text.split(" ")
    shown = ""
    for word in reversed(words):
        longer = f"{word} {shown}" if shown else word
        if fit(longer, room) != longer:
            break
        shown = longer
    return shown
