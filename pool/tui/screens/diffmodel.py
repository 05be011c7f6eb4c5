"""Changed files as a panel shows them: hunks of numbered lines with the words that differ; hunks are found late."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pool.tui.transcript.diffparse import DiffLine, in_order, pairs

MARKED_LINES = 400
"""In longer hunks the words that differ are not looked for."""

NO_END = "  (no line end)"
"""After a last line that has none."""

RETURN = " ␍"
"""After lines that end with CR LF, where others do not."""

Signed = tuple[str, bytes]
"""A blank, `-` or `+`, and the line with its end."""


@dataclass(slots=True)
class HunkView:
    """A hunk. number is its name in what it belongs to, place the line of the file that it is at."""

    number: int
    place: int
    lines: Sequence[DiffLine]
    key: str
    about: str = ""
    _marked: bool = False

    def marked(self) -> Sequence[DiffLine]:
        """Its lines, with the words that differ marked if there are not too many."""
        if not self._marked and len(self.lines) <= MARKED_LINES:
            self.lines = in_order(pairs(self.lines))
        self._marked = True
        return self.lines

    @property
    def text(self) -> tuple[str, ...]:
        """Its changed lines with their signs."""
        return tuple(line.sign + line.text for line in self.lines if line.sign != " ")


@dataclass(slots=True)
class FileView:
    """A changed file. find gives its hunks and may take a while; hunks is None until it was asked."""

    path: str
    kind: str
    added: int
    removed: int
    find: Callable[[], Sequence[HunkView]]
    note: str = ""
    hunks: Sequence[HunkView] | None = None
    open: bool = False

    def load(self) -> None:
        """Find the hunks (blocking: for a thread)."""
        if self.hunks is None:
            self.hunks = self.find()


def hunk_view(number: int, path: str, old_start: int, new_start: int, signed: Sequence[Signed]) -> HunkView:
    """A hunk from its lines; starts count from 0."""
    lines: list[DiffLine] = []
    old, new = old_start + 1, new_start + 1
    digest = hashlib.sha256(path.encode("utf-8", "surrogateescape"))
    place = 0
    returns = {line.endswith(b"\r\n") for _, line in signed}
    for sign, data in signed:
        text = data.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
        if not data.endswith(b"\n"):
            text += NO_END
        elif len(returns) > 1 and data.endswith(b"\r\n"):
            text += RETURN
        if sign != " ":
            place = place or new
            digest.update(sign.encode() + data)
        lines.append(DiffLine(sign, old if sign == "-" else new, text, old=old if sign == " " else 0))
        old += sign != "+"
        new += sign != "-"
    return HunkView(number, place or new_start + 1, lines, digest.hexdigest()[:16])
