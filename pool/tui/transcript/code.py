"""Code blocks: a head with the language, coloured lines, folded where a person folds them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pool.facekit.clean import cut, expand
from pool.tui.transcript.block import Layout
from pool.tui.transcript.highlight import coloured
from pool.tui.transcript.lines import Line, Run, line, prefixed
from pool.tui.transcript.palette import Palette
from pool.tui.transcript.wrap import fit, wrap

LONG_LINES = 40
"""Code with more lines can be folded."""

SHOWN_LINES = 8
"""Lines shown of folded code."""

COLOUR_SECONDS = 0.4
"""Code that is still being written is coloured anew at most this often."""

_COPY = "  copy"

COLOUR_SHARE = 10
"""Nor more often than so many times what it took the last time."""


@dataclass(slots=True)
class OpenCode:
    """What is known of code that is still being written: its coloured lines as of the last time."""

    text: str = ""
    lines: list[list[Run]] = field(default_factory=list[list[Run]])
    next_at: float = 0.0

    def coloured(self, text: str, language: str, palette: Palette) -> list[list[Run]]:
        """The lines of text, coloured as far as they are known."""
        now = time.monotonic()
        if now >= self.next_at or not text.startswith(self.text):
            self.text, self.lines = text, coloured(text, language, palette)
            after = time.monotonic()
            self.next_at = after + max(COLOUR_SECONDS, COLOUR_SHARE * (after - now))
            return self.lines
        known = self.lines[:-1]
        more = text.split("\n")[len(known) :]
        return known + [[(row, palette.block)] if row else [] for row in more]


def code_rows(code: str, language: str, at: Layout, number: int, *, folded: bool, open_: OpenCode | None) -> list[Line]:
    """The rows of a code block, part number of its block. open_ is given while it is still being written."""
    look = at.palette
    code = "\n".join([expand(cut(row)) for row in code.split("\n")])
    found = open_.coloured(code, language, look) if open_ else coloured(code, language, look)
    rows = [_head(language, len(found), at, number, folded=folded, is_open=open_ is not None)]
    for runs in found[:SHOWN_LINES] if folded else found:
        wrapped = wrap(runs, at.narrower(2).width, look.block) if runs else [Line([], fill=look.block)]
        rows += prefixed(wrapped, [(" ", look.block)], [(" ", look.block)])
    if folded:
        more = line((f" … {len(found) - SHOWN_LINES:,} more lines", look.block_head), fill=look.block_head)
        more.action = f"fold:{number}"
        rows.append(more)
    return rows


def _head(language: str, count: int, at: Layout, number: int, *, folded: bool, is_open: bool) -> Line:
    words = [language or "text"]
    foldable = count > LONG_LINES and not is_open
    if count > LONG_LINES:
        words.append(f"{count:,} lines")
    mark = ("▸ " if folded else "▾ ") if foldable else ""
    text = fit(f" {mark}{' · '.join(words)}", at.width - len(_COPY))
    style = at.palette.block_head
    action = f"fold:{number}" if foldable else ""
    gap, word = _COPY[: -len(_COPY.strip())], _COPY.strip()
    row = line((text, style), (gap, style), (word, style + at.palette.link), fill=style, action=action, whole="")
    row.gutter = len(row.drawn)
    row.spots = [(len(text), row.gutter, f"copy:{number}")]
    return row


def is_long(code: str) -> bool:
    """Whether code may be folded."""
    return code.count("\n") >= LONG_LINES


def first_word(info: str) -> str:
    """The language in a fence's info string: its first word."""
    words: Sequence[str] = info.split(maxsplit=1)
    return words[0] if words else ""
