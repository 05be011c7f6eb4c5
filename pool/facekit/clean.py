"""Text made safe to draw: what a model, a tool or a file says is data, never an escape to the terminal.

Control characters and bidirectional controls become visible escapes, invisible characters that terminals measure
differently are left out of the picture, tabs become blanks, lone surrogates U+FFFD. Line ends become "\\n".
"""

from __future__ import annotations

import re

TAB_CELLS = 4
"""Tab stops of drawn text."""

LONG_LINE_CHARS = 8_000
"""A longer line is cut in view; copying its block gives all of it."""

MOST_MARKS = 8
"""Combining marks kept on one character."""

_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_INVISIBLE = frozenset("\u00ad\u200b\u2060\ufeff")
_MARKS = re.compile(
    f"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]{{{MOST_MARKS}}})[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]+"
)
_HIGH = re.compile("[\ud800-\udbff]\\Z")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def clean(text: str) -> str:
    """Text with line ends as "\\n" and nothing in it that a terminal would obey. Tabs stay; `expand` draws them."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    return _MARKS.sub(r"\1", _ODD.sub(_shown, _PAIR.sub(_joined, text)))


def one_line(text: str) -> str:
    """Text for a part of a line: line ends and tabs become blanks."""
    return " ".join(clean(text).split())


def expand(line: str) -> str:
    """A line with its tabs as blanks, counted in characters from its start."""
    return line.expandtabs(TAB_CELLS) if "\t" in line else line


def cut(line: str, most: int = LONG_LINE_CHARS) -> str:
    """A line cut to what can be drawn at once; it says how much is left out."""
    return line if len(line) <= most else f"{line[:most]}… ({len(line) - most:,} more characters)"


class Cleaner:
    """Cleans a text that comes in pieces, so that the pieces' borders leave no trace."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The next piece, clean. A last character that may be half of something waits for the next one."""
        text = self._held + text
        held = 1 if text.endswith("\r") or _HIGH.search(text) else 0
        self._held = text[len(text) - held :]
        return clean(text[: len(text) - held])

    def end(self) -> str:
        """What waited."""
        held, self._held = self._held, ""
        return clean(held)


def _joined(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _INVISIBLE:
        return ""
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
