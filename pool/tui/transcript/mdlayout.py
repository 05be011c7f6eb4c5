"""From Markdown's tokens to rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.style import Style

from pool.facekit.clean import cut
from pool.tui.transcript.block import Layout
from pool.tui.transcript.code import OpenCode, code_rows, first_word, is_long
from pool.tui.transcript.inline import inline_runs
from pool.tui.transcript.lines import Line, Run, line, prefixed
from pool.tui.transcript.mdparse import Group
from pool.tui.transcript.table import Table, table_rows
from pool.tui.transcript.wrap import wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

LEAST_CELLS = 12
"""Nested lists and quotes are indented no further once so little room is left."""

_BULLETS = "•◦▪"


@dataclass(slots=True)
class MarkdownRows:
    """Lays out top-level blocks one after the other. codes collects the text of each code block, in order.

    is_folded says of a code block by its number (from 1) whether a person folded it.
    """

    at: Layout
    is_folded: Callable[[int], bool]
    codes: list[str] = field(default_factory=list[str])
    open_code: OpenCode | None = None
    _depth: int = 0

    def rows(self, group: Group) -> list[Line]:
        """The rows of one top-level block."""
        return self._blocks(group, self.at, self.at.palette.text)

    def _blocks(self, tokens: Sequence[Token], at: Layout, base: Style, *, tight: bool = False) -> list[Line]:
        """The rows of the blocks in tokens, an empty row between them unless tight."""
        out: list[Line] = []
        place = 0
        while place < len(tokens):
            end = _closing(tokens, place)
            rows = self._block(tokens[place : end + 1], at, base)
            if out and rows and not tight:
                out.append(line())
            out += rows
            place = end + 1
        return out

    def _block(self, tokens: Sequence[Token], at: Layout, base: Style) -> list[Line]:
        token, inner = tokens[0], tokens[1:-1]
        match token.type:
            case "paragraph_open":
                return _text(inner, at, base)
            case "heading_open":
                look = at.palette
                return _text(inner, at, look.heading if token.tag in ("h1", "h2") else look.heading_low)
            case "fence" | "code_block":
                return self._code(token, at)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token, inner, at, base)
            case "blockquote_open":
                bar = [("▎ ", at.palette.quote)]
                rows = self._blocks(inner, self._inside(at, 2), at.palette.quote)
                return list(prefixed(rows, bar, bar)) if at.width > LEAST_CELLS else rows
            case "hr":
                return [line(("─" * at.width, at.palette.border), whole="---")]
            case "table_open":
                return table_rows(_table(inner, at, base), at)
            case _:
                return wrap([(cut(token.content), base)], at.width)

    def _inside(self, at: Layout, cells: int) -> Layout:
        return at.narrower(cells) if at.width > LEAST_CELLS else at

    def _code(self, token: Token, at: Layout) -> list[Line]:
        code = token.content.removesuffix("\n")
        self.codes.append(code)
        number = len(self.codes)
        folded = is_long(code) and self.is_folded(number)
        language = first_word(token.info)
        return code_rows(code, language, at, number, folded=folded, open_=self.open_code)

    def _list(self, token: Token, tokens: Sequence[Token], at: Layout, base: Style) -> list[Line]:
        items = _children(tokens)
        ordered = token.type == "ordered_list_open"
        start = int(token.attrs.get("start", 1)) if ordered else 0
        bullet = _BULLETS[self._depth % len(_BULLETS)]
        marks = [f"{start + i}. " if ordered else f"{bullet} " for i in range(len(items))]
        width = max(len(m) for m in marks) if marks else 0
        tight = all(t.hidden for t in tokens if t.type == "paragraph_open" and t.level == token.level + 2)
        out: list[Line] = []
        self._depth += 1
        for mark, item in zip(marks, items, strict=True):
            rows = self._blocks(item[1:-1], self._inside(at, width), base, tight=tight) or [line()]
            if out and not tight:
                out.append(line())
            if at.width > LEAST_CELLS:
                prefixed(rows, [(mark.rjust(width), at.palette.accent)], [(" " * width, base)])
            _keep_mark(rows, mark if ordered else "- ")
            out += rows
        self._depth -= 1
        return out


def _keep_mark(rows: Sequence[Line], mark: str) -> None:
    """A copy of several rows keeps the marks of list items."""
    for row in rows[1:]:
        if row.lead:
            row.lead = " " * len(mark) + row.lead
    rows[0].lead = mark + rows[0].lead


def _text(tokens: Sequence[Token], at: Layout, base: Style) -> list[Line]:
    rows: list[Line] = []
    for runs in inline_runs(tokens[0].children or [], base, at.palette) if tokens else []:
        rows += wrap(runs, at.width)
    return rows


def _table(tokens: Sequence[Token], at: Layout, base: Style) -> Table:
    rows: list[list[list[Run]]] = []
    aligns: list[str] = []
    for number, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            cell = tokens[number + 1].children or []
            rows[-1].append([run for part in inline_runs(cell, base, at.palette) for run in part])
            if token.type == "th_open":
                aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:") or "left")
    return Table(rows[0], rows[1:], aligns)


def _children(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    out: list[Sequence[Token]] = []
    place = 0
    while place < len(tokens):
        end = _closing(tokens, place)
        out.append(tokens[place : end + 1])
        place = end + 1
    return out


def _closing(tokens: Sequence[Token], place: int) -> int:
    depth = 0
    for number in range(place, len(tokens)):
        depth += tokens[number].nesting
        if depth == 0:
            return number
    return len(tokens) - 1
