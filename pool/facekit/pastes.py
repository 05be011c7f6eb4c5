"""Large pastes: one mark in the prompt box stands for the whole text, until it is sent."""

from __future__ import annotations

import re

FOLD_LINES = 12
FOLD_CHARS = 2000
"""A paste with more lines or characters than these is shown as a mark."""

_MARK = re.compile(r"\[paste #(\d+): [^\[\]\n]*\]")
_MARK_AT_END = re.compile(_MARK.pattern + r"\Z")


def normal_lines(text: str) -> str:
    """Line ends as the box keeps them: terminals send CR for the end of a pasted line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Pastes:
    """The folded pastes of one prompt box. A mark that the user takes out takes its text out too."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._count = 0

    def fold(self, text: str) -> str:
        """What the box is to show for a pasted text: itself, or a mark if it is large."""
        text = normal_lines(text)
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= FOLD_LINES and len(text) <= FOLD_CHARS:
            return text
        self._count += 1
        self._texts[self._count] = text
        what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"[paste #{self._count}: {what}]"

    def unfold(self, shown: str) -> str:
        """The text that is meant: marks of ours replaced by what they stand for, all else as it is."""
        return _MARK.sub(lambda m: self._texts.get(int(m.group(1)), m.group(0)), shown)

    def mark_before(self, line: str) -> int:
        """The length in characters of the mark of ours with which a line ends, 0 without one."""
        found = _MARK_AT_END.search(line)
        return len(found.group()) if found is not None and int(found.group(1)) in self._texts else 0

    def clear(self) -> None:
        """Forget all texts, after the prompt is sent. Numbers are not used again, so history stays unambiguous."""
        self._texts.clear()
