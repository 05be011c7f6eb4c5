"""The model's answer: Markdown that is read while it is written."""

from __future__ import annotations

from collections.abc import Sequence

from pool.facekit.clean import Cleaner, clean
from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.code import OpenCode
from pool.tui.transcript.lines import Line, line
from pool.tui.transcript.mdlayout import MarkdownRows
from pool.tui.transcript.mdparse import Group, GrowingMarkdown

ROW_CHARS_SHARE = 0.8
"""Of a row's width, how much Markdown's source fills on average; for estimates."""


class Answer(Block):
    """Markdown, whole or still coming. Any split of the text into pieces ends in the same rows."""

    def __init__(self, text: str = "", *, done: bool = False) -> None:
        """done says that text is all; it is then read only when it is first drawn."""
        self._raw = text
        self._done = done
        self._growing: GrowingMarkdown | None = None
        self._cleaner = Cleaner()
        self._rows: list[Line] = []
        self._writer: MarkdownRows | None = None
        self._open_code = OpenCode()
        self._folded: set[int] = set()
        self._codes: list[str] = []

    def append(self, text: str) -> None:
        if self._growing is None:
            self._growing = self._begin()
        self._growing.append(self._cleaner.feed(text))

    def finish(self) -> None:
        if self._growing is not None:
            self._growing.append(self._cleaner.end())
        self._done = True

    def _begin(self) -> GrowingMarkdown:
        growing = GrowingMarkdown(self._close, self._restart)
        growing.append(clean(self._raw) if self._done else self._cleaner.feed(self._raw))
        self._raw = ""
        return growing

    @property
    def parts(self) -> int:
        return len(self._codes)

    def source(self, part: int = 0) -> str:
        if part:
            return self._codes[part - 1] if part <= len(self._codes) else ""
        return self._growing.text if self._growing is not None else clean(self._raw)

    def fold(self, part: int, folded: bool | None) -> bool:
        if not 0 < part <= len(self._codes):
            return False
        wanted = part not in self._folded if folded is None else folded
        (self._folded.add if wanted else self._folded.discard)(part)
        self._writer = None
        return True

    def layout(self, at: Layout) -> Sequence[Line]:
        if self._growing is None:
            self._growing = self._begin()
        writer = self._writer
        if writer is None or (writer.at.width, writer.at.palette) != (at.width, at.palette):
            writer = self._writer = MarkdownRows(at, self._folded.__contains__)
            self._growing.restart()
        groups = self._growing.open()
        closed_codes = len(writer.codes)
        rows = list(self._rows)
        for number, group in enumerate(groups):
            last = number == len(groups) - 1
            writer.open_code = self._open_code if last and not self._done else None
            _add(rows, writer.rows(group))
        writer.open_code = None
        self._codes = list(writer.codes)
        del writer.codes[closed_codes:]
        return rows

    def _close(self, group: Group) -> None:
        assert self._writer is not None
        _add(self._rows, self._writer.rows(group))
        self._open_code = OpenCode()

    def _restart(self) -> None:
        self._rows = []
        if self._writer is not None:
            self._writer.codes.clear()

    def release(self) -> None:
        self._raw, self._growing = self.source(), None
        self._done = True
        self._rows, self._writer = [], None

    def estimate(self, width: int) -> int:
        text = self._raw if self._growing is None else self._growing.text
        return max(1, text.count("\n") + int(len(text) / max(1.0, width * ROW_CHARS_SHARE)))


def _add(rows: list[Line], more: list[Line]) -> None:
    """Put more below rows, parted by an empty row."""
    if rows and more:
        rows.append(line())
    rows += more
