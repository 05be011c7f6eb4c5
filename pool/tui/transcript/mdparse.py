"""Markdown that grows: only the last open top-level block is parsed again, closed ones are done with.

CommonMark is read line by line: once a line that begins another top-level block is whole, nothing that follows can
change the blocks before it, with one exception: a link reference definition counts for text above it too. If one
appears, everything is parsed once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pool.facekit.clean import cut

if TYPE_CHECKING:
    # markdown-it is imported with the first answer: the interface paints without it.
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

MOST_INLINE_CHARS = 20_000
"""A longer paragraph is shown as plain text: some markup takes time with the square of its length."""

Group = Sequence["Token"]
"""The tokens of one top-level block."""


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """CommonMark with tables and strike-through. HTML is text like any other."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.at("inline", _inline)
    return made


def _inline(state: StateCore) -> None:
    from markdown_it.token import Token

    for token in state.tokens:
        if token.type != "inline":
            continue
        if len(token.content) > MOST_INLINE_CHARS:
            text = Token("text", "", 0, content=token.content.replace("\n", " "))
            token.children = [text]
        else:
            if token.children is None:
                token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def groups(tokens: Sequence[Token]) -> list[Group]:
    """The tokens by top-level block."""
    out: list[Group] = []
    start = depth = 0
    for number, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            out.append(tokens[start : number + 1])
            start = number + 1
    return out


class GrowingMarkdown:
    """A clean Markdown text and its blocks. Each top-level block is closed once, when it can change no more."""

    def __init__(self, closed: Callable[[Group], None], restarted: Callable[[], None]) -> None:
        """closed takes a block that is closed; restarted is called before all are closed anew."""
        self._closed = closed
        self._restarted = restarted
        self._chunks: list[str] = []
        self._tail = ""
        self._known: dict[str, Any] = {}
        self._used: dict[str, tuple[str, str]] = {}
        self._any_closed = False
        self._looked_at = 0

    def append(self, text: str) -> None:
        """Take more text."""
        self._chunks.append(text)
        self._tail += text

    @property
    def text(self) -> str:
        """All of it."""
        if len(self._chunks) > 1:
            self._chunks = ["".join(self._chunks)]
        return self._chunks[0] if self._chunks else ""

    def restart(self) -> None:
        """Close every block anew at the next `open`."""
        self._restarted()
        self._tail = self.text
        self._known, self._used, self._any_closed, self._looked_at = {}, {}, False, 0

    def open(self) -> list[Group]:
        """Parse what is not closed, close what can be, and give the blocks that are still open."""
        found, references = self._parse(self._tail)
        if self._any_closed and _targets(references) != self._used:
            self.restart()
            found, references = self._parse(self._tail)
        self._used = _targets(references)
        if len(found) > 1:
            found = self._close(found, references)
        return found

    def _close(self, found: list[Group], references: dict[str, Any]) -> list[Group]:
        """Close blocks that whole lines follow; what is left of found is still open."""
        whole = self._tail.rpartition("\n")[0]
        if len(whole) == self._looked_at:
            return found
        sure, _ = self._parse(whole)
        if len(sure) < 2:
            self._looked_at = len(whole)
            return found
        count = len(sure) - 1
        end = _end(sure[-2])
        for group in found[:count]:
            self._closed(group)
        self._any_closed = True
        self._known |= {k: v for k, v in references.items() if k not in self._known and v["map"][0] < end}
        place = 0
        for _ in range(end):
            place = self._tail.find("\n", place) + 1
        self._tail = self._tail[place:]
        self._looked_at = 0
        return found[count:]

    def _parse(self, text: str) -> tuple[list[Group], dict[str, Any]]:
        environment: dict[str, Any] = {"references": dict(self._known)}
        text = "\n".join([cut(row) for row in text.split("\n")])
        return groups(parser().parse(text, environment)), environment["references"]


def _targets(references: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {label: (found["href"], found["title"]) for label, found in references.items()}


def _end(group: Group) -> int:
    lines = group[0].map
    assert lines is not None
    return lines[1]
