"""Inline Markdown as runs: emphasis, code, links as text and address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from pool.tui.transcript.lines import Run
from pool.tui.transcript.palette import Palette
from pool.tui.transcript.wrap import is_wide

if TYPE_CHECKING:
    from markdown_it.token import Token


def inline_runs(tokens: Sequence[Token], base: Style, look: Palette) -> list[list[Run]]:
    """The lines of an inline token's children, each as runs; hard breaks part them."""
    return _Writer(base, look).write(tokens)


class _Writer:
    def __init__(self, base: Style, look: Palette) -> None:
        self._look = look
        self._styles = [base]
        self._links: list[tuple[str, int]] = []
        self._lines: list[list[Run]] = [[]]
        self._kinds = {"strong": look.strong, "em": look.emphasis, "s": look.strike, "link": look.link}

    def write(self, tokens: Sequence[Token]) -> list[list[Run]]:
        for number, token in enumerate(tokens):
            kind = token.type.removesuffix("_open").removesuffix("_close")
            if token.nesting == 1:
                self._styles.append(self._styles[-1] + self._kinds.get(kind, Style.null()))
                if kind == "link":
                    self._links.append((str(token.attrs.get("href", "")), self._length()))
            elif token.nesting == -1:
                self._styles.pop()
                if kind == "link":
                    self._end_link()
            else:
                self._single(token, tokens[number + 1] if number + 1 < len(tokens) else None)
        return self._lines

    def _single(self, token: Token, following: Token | None) -> None:
        match token.type:
            case "code_inline":
                self._put(token.content, self._styles[-1] + self._look.code)
            case "hardbreak":
                self._lines.append([])
            case "softbreak":
                before = self._lines[-1][-1][0] if self._lines[-1] else ""
                after = following.content if following else ""
                joined = before and after and is_wide(before[-1]) and is_wide(after[0])
                self._put("" if joined else " ", self._styles[-1])
            case "image":
                self._put(f"[image: {token.content}]", self._styles[-1] + self._look.link)
                self._put(f" ({token.attrs.get('src', '')})", self._styles[-1] + self._look.muted)
            case _:
                self._put(token.content, self._styles[-1])

    def _end_link(self) -> None:
        address, start = self._links.pop()
        shown = "".join(text for text, _ in self._lines[-1])[start:] if start <= self._length() else ""
        if address and shown not in (address, address.removeprefix("mailto:")):
            self._put(f" ({address})", self._styles[-1] + self._look.muted)

    def _length(self) -> int:
        return sum(len(text) for text, _ in self._lines[-1])

    def _put(self, text: str, style: Style) -> None:
        if not text:
            return
        last = self._lines[-1]
        if last and last[-1][1] == style:
            last[-1] = (last[-1][0] + text, style)
        else:
            last.append((text, style))
