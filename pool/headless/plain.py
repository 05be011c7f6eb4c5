"""Making text safe to print: what a model, a tool or a file says is data, never a terminal escape."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINE_END = re.compile("[\n\u2028\u2029]")
_TERMINAL_ONLY = re.compile("\x85")


def safe(text: str, *, terminal: bool) -> str:
    """Text with control characters and bidirectional overrides shown as visible escapes; newline and tab stay.

    A next-line character (U+0085) is kept for files and pipes, where it is text, and shown escaped on a terminal.
    """
    text = _CONTROL.sub(_visible, text.replace("\r\n", "\n"))
    return _TERMINAL_ONLY.sub(_visible, text) if terminal else text


def one_line(text: str) -> str:
    """Text as a part of a line on a terminal: line ends are shown as escapes too, so that it cannot forge a line."""
    return _LINE_END.sub(_visible, safe(text, terminal=True))


def _visible(match: re.Match[str]) -> str:
    if match.group() == "\n":
        return "\\n"
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
