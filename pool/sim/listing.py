"""The text of a file, from what a client's read tool answered."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# `12→text`, `12<tab>text`, `12: text`, `12|text`: the forms in which read tools number their lines.
_NUMBERED = re.compile(r"[ \t]*(\d+)(→|\t|: ?|[ ]?[|│] ?)(.*)")
_TOTAL = re.compile(r"\bof ([\d,]+)\b|\b([\d,]+) lines (?:in )?total\b|\btotal lines: ([\d,]+)", re.IGNORECASE)
_NEXT = re.compile(r"\boffset[ =:]+(\d+)", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(error|failed|failure|cannot|could not|not found|no match|denied|refused|does not|doesn't|no such|invalid|"
    r"blocked|rejected|unable|not allowed|not read|unknown|ambiguous|times in)\b",
    re.IGNORECASE,
)
MOST_WRAPPING_LINES = 4


def refused(result: str, path: str = "") -> bool:
    """Whether a tool's answer about path says that it did not do what was asked; its first line tells."""
    first = next((line for line in result.splitlines() if line.strip()), "")
    if path:
        first = first.replace(path, "")
    return bool(_REFUSAL.search(first)) and _NUMBERED.fullmatch(first) is None


@dataclass(slots=True)
class FileView:
    """What is known of a file: lines by number from 1, and how many there are at least (0: not told)."""

    lines: dict[int, str] = field(default_factory=dict[int, str])
    total: int = 0
    _blank_is_code: bool = False
    _stripped: set[int] = field(default_factory=set[int])

    @property
    def text(self) -> str:
        """All lines that are known without a gap from line 1 on."""
        return "".join(f"{self.lines[number]}\n" for number in range(1, self.first_gap))

    @property
    def first_gap(self) -> int:
        """The first line that was not shown; one past the end if all were."""
        number = 1
        while number in self.lines:
            number += 1
        return number

    @property
    def whole(self) -> bool:
        """Whether no line is known to be missing."""
        return self.first_gap > max(self.total, *self.lines, 0)

    def replace(self, text: str) -> None:
        """The file now has this text."""
        self.lines = dict(enumerate(text.splitlines(), 1))
        self.total = len(self.lines)
        self._stripped.clear()

    def learn(self, result: str) -> bool:
        """Take what a read tool answered; False if it shows no text."""
        rows = result.splitlines()
        matches = [_NUMBERED.fullmatch(row) for row in rows]
        numbered = [match for match in matches if match is not None]
        if numbered and len(numbered) * 2 >= len([row for row in rows if row.strip()]):
            self._learn_numbered([(int(match[1]), match[2], match[3]) for match in numbered])
            notes = "\n".join(row for row, match in zip(rows, matches, strict=True) if match is None)
            self._learn_notes(notes)
            return True
        if refused(result):
            return False
        self.replace("\n".join(_unwrapped(rows)))
        return True

    def _learn_numbered(self, found: Sequence[tuple[int, str, str]]) -> None:
        """Store lines. A blank after the sign belongs to it only if every line of the file has one: else it is code."""
        if not all(sign.endswith(" ") for _, sign, text in found if text):
            self._blank_is_code = True
            self.lines |= {number: f" {self.lines[number]}" for number in self._stripped}
            self._stripped.clear()
        for number, sign, text in found:
            blank = sign.endswith(" ")
            self.lines[number] = f" {text}" if blank and self._blank_is_code else text
            if blank and not self._blank_is_code:
                self._stripped.add(number)

    def _learn_notes(self, notes: str) -> None:
        for match in _TOTAL.finditer(notes):
            self.total = max(self.total, int(next(filter(None, match.groups())).replace(",", "")))
        for match in _NEXT.finditer(notes):
            self.total = max(self.total, int(match[1]))


def _unwrapped(rows: list[str]) -> list[str]:
    """Rows without what a tool may put around a file: a fence, a tag, a heading. Fewest first, so long as it parses."""
    for around in range(2 * MOST_WRAPPING_LINES + 1):
        for front in range(around + 1):
            inner = rows[front : len(rows) - (around - front)]
            if inner and _parses("\n".join(inner)):
                return inner
    return rows


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
