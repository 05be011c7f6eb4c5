"""An answer while it streams: whole lines go out, a block of code once it is finished, the rest is still to come."""

from __future__ import annotations

import re
from collections.abc import Callable

from pool.facekit.clean import Cleaner, expand
from pool.repl.code import coloured
from pool.repl.ink import Ink, Role
from pool.repl.wrapping import row_pieces, rows_of

MOST_HELD_LINES = 200
"""Lines of an unfinished block of code that are held back; then they go out as far as they are."""

_OPENS = re.compile(r" {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_CODE = re.compile(r"(?<!`)`[^`]+`(?!`)")


class Prose:
    """One answer. say takes finished lines, safe and coloured.

    columns is the width at which lines outside of code are broken between words, 0 for not at all.
    """

    def __init__(self, ink: Ink, say: Callable[[str], None], columns: Callable[[], int] = lambda: 0) -> None:
        self._ink = ink
        self._columns = columns
        self._say = say
        self._cleaner = Cleaner()
        self._line = ""
        self._fence = ""
        self._language = ""
        self._held: list[str] = []
        self._begun = False

    @property
    def rest(self) -> list[str]:
        """What is not out yet, without colours; the last line may go on."""
        return [*self._held, self._line] if self._line else self._held

    def feed(self, text: str) -> None:
        """Take the next piece, raw as the model wrote it."""
        self._add(self._cleaner.feed(text))

    def end(self) -> None:
        """There is no more: put out what is left."""
        self._add(self._cleaner.end())
        if self._line.strip():
            self._take(expand(self._line))
        self._line = ""
        self._release()
        self._fence = ""

    def _add(self, text: str) -> None:
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            self._take(expand(line))

    def _take(self, line: str) -> None:
        if not self._begun and not line.strip():
            return
        self._begun = True
        if self._fence:
            self._in_code(line)
        elif found := _OPENS.fullmatch(line):
            self._fence, self._language = found[1], found[2].lower()
            self._say(self._ink.paint(line, Role.MUTED))
        elif _HEADING.match(line):
            for row in rows_of(line, self._columns()):
                self._say(self._ink.paint(row, Role.STRONG))
        else:
            self._say_prose(line)

    def _say_prose(self, line: str) -> None:
        spans = [found.span() for found in _CODE.finditer(line)]
        pieces, indent = row_pieces(line, self._columns())
        for number, (start, end) in enumerate(pieces):
            row, at = " " * indent if number else "", start
            for a, b in spans:
                a, b = max(a, start), min(b, end)
                if a < b:
                    row, at = row + line[at:a] + self._ink.paint(line[a:b], Role.TOOL), b
            self._say(row + line[at:end])

    def _in_code(self, line: str) -> None:
        bare = line.strip()
        if bare and not bare.strip(self._fence[0]) and len(bare) >= len(self._fence):
            self._release()
            self._fence = ""
            self._say(self._ink.paint(line, Role.MUTED))
            return
        self._held.append(line)
        if not self._ink.colours or len(self._held) >= MOST_HELD_LINES:
            self._release()

    def _release(self) -> None:
        held, self._held = self._held, []
        for line in coloured(held, self._language, self._ink):
            self._say(line)
