"""The user's prompt."""

from __future__ import annotations

from collections.abc import Sequence

from pool.facekit.clean import clean
from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.lines import Line, line
from pool.tui.transcript.plaintext import text_rows

LONG_LINES = 30
"""A longer prompt is folded."""

SHOWN_LINES = 8
"""How many of its lines are shown then."""


class Prompt(Block):
    """What the user said. kind says how it came if not typed at the end: "steer", "queued", ..., shown beside it."""

    is_prompt = True
    bar = True

    def __init__(self, text: str, kind: str = "") -> None:
        self._raw = text
        self._kind = kind
        self._folded: bool | None = None

    def source(self, part: int = 0) -> str:
        return clean(self._raw).strip("\n")

    @property
    def is_folded(self) -> bool:
        long = self._raw.count("\n") >= LONG_LINES
        return long if self._folded is None else long and self._folded

    def fold(self, part: int, folded: bool | None) -> bool:
        if self._raw.count("\n") < LONG_LINES:
            return False
        self._folded = not self.is_folded if folded is None else folded
        return True

    def layout(self, at: Layout) -> Sequence[Line]:
        text, look = self.source(), at.palette
        hidden = 0
        if self.is_folded:
            lines = text.split("\n")
            text, hidden = "\n".join(lines[:SHOWN_LINES]), len(lines) - SHOWN_LINES
        rows = text_rows(text, at, look.user)
        if hidden:
            rows.append(line((f"… {hidden:,} more lines", look.user + look.muted), action="fold"))
        if self._kind:
            rows.insert(0, line((self._kind, look.user + look.muted), whole=""))
        for row in rows:
            row.fill = look.user
        return rows

    def estimate(self, width: int) -> int:
        return SHOWN_LINES + 1 if self.is_folded else super().estimate(width)
