"""A block for what the interface itself says in several lines: the answer of a command, the output of a `!` line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pool.facekit.answers import table_lines
from pool.facekit.clean import clean
from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.lines import Line, prefixed
from pool.tui.transcript.plaintext import text_rows

if TYPE_CHECKING:
    from pool.agent.commands import Rows

MOST_FOLDED_ROWS = 24


class Note(Block):
    """Lines of text as data, and a table below them, marked at the left; long ones fold."""

    def __init__(self, text: str, title: str = "", table: Rows | None = None) -> None:
        self._lines = clean(text).strip("\n")
        self._title = title
        self._table = table
        self._open = self.source().count("\n") < MOST_FOLDED_ROWS
        self._foldable = not self._open

    def source(self, part: int = 0) -> str:
        return self._text_for(0)

    def _text_for(self, width: int) -> str:
        table = table_lines(self._table, width) if self._table is not None else []
        return clean("\n".join([*([self._lines] if self._lines else []), *table]))

    def fold(self, part: int, folded: bool | None) -> bool:
        if not self._foldable:
            return False
        self._open = (not self._open) if folded is None else not folded
        return True

    @property
    def is_folded(self) -> bool:
        return not self._open

    def layout(self, at: Layout) -> Sequence[Line]:
        look, room = at.palette, at.narrower(2)
        text = self._text_for(room.width)
        count = text.count("\n") + 1
        if not self._open:
            lines = text.split("\n")
            text = "\n".join(lines[: MOST_FOLDED_ROWS - 1])
        rows = text_rows(clean(self._title), room, look.accent) if self._title else []
        rows += text_rows(text, room, look.text) if text else []
        if not self._open:
            hidden = count - (MOST_FOLDED_ROWS - 1)
            rows += text_rows(f"… {hidden:,} more lines (Enter or a click opens)", room, look.muted)
        return prefixed(rows, [("│ ", look.border)], [("│ ", look.border)])
