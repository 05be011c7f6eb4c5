"""Text of a model, a tool or a file as data for a page: made visible, and cut where it is too long to read."""

from __future__ import annotations

import re

LINE_CHARS = 2_000
TEXT_CHARS = 64_000
"""Of a longer line, and of a longer text, the beginning is shown, and of the text the end too (a quarter)."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
_LONG_LINE = re.compile(f"[^\n]{{{LINE_CHARS + 1},}}")


def visible(text: str) -> str:
    """Control characters and marks that turn text around shown as escapes; newline and tab stay."""
    return _CONTROL.sub(_escape, text.replace("\r\n", "\n"))


def shortened(text: str, *, whole: bool) -> str:
    """The text, long lines and the middle of a long text left out with a note; whole: all of it."""
    if whole or len(text) <= LINE_CHARS:
        return text
    if len(text) > TEXT_CHARS + LINE_CHARS:
        head, tail = TEXT_CHARS * 3 // 4, TEXT_CHARS // 4
        left_out = len(text) - head - tail
        text = f"{text[:head]}\n[... {left_out:,} characters left out, --raw keeps them ...]\n{text[-tail:]}"
    return _LONG_LINE.sub(_cut, text)


def first_line(text: str, most: int) -> str:
    """The first line that says something, cut to so many characters."""
    line = next((one.strip() for one in text.split("\n") if one.strip()), "")
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _cut(match: re.Match[str]) -> str:
    line = match.group()
    return f"{line[:LINE_CHARS]} [... {len(line) - LINE_CHARS:,} characters of this line left out, --raw keeps them]"


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
