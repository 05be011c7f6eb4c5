"""Text that is safe to show: names and sizes for messages, and the check that an argument is valid Unicode."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from itertools import islice

from pool_tools.api import ToolError

_UNSAFE_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NAME_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")
_ROUNDS_UP = 999.95


def visible(text: str) -> str:
    """text with control characters, bidi controls and stray bytes as escapes such as `\\x1b`, `\\u202e`, `\\xff`."""
    return _UNSAFE_IN_NAMES.sub(lambda m: _escape(m[0]), text)


def printable(text: str) -> str:
    """text over several lines, shown safely: like `visible`, but line feeds and tabs stay."""
    return _UNSAFE_IN_NAMES.sub(lambda m: m[0] if m[0] in "\n\t" else _escape(m[0]), text)


def _escape(char: str) -> str:
    point = ord(char)
    if 0xDC80 <= point <= 0xDCFF:  # a byte that was not UTF-8, as the `surrogateescape` handler keeps it
        point -= 0xDC00
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"


def unescape_name(name: str) -> str:
    """The file name that `visible` shows as name, for names that hold `\\xNN` escapes."""
    raw = _NAME_ESCAPE.sub(lambda m: bytes((int(m[1], 16),)), name.encode())
    return os.fsdecode(raw)


def valid_unicode(text: str, what: str) -> str:
    """text with split surrogate pairs joined.

    Raises `ToolError` on a lone surrogate (JSON's `\\ud83d` without its second half): it is no character and no
    file or request can hold it. what names the argument.
    """
    if not _SURROGATES.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    lone = _SURROGATES.search(joined)
    if lone is None:
        return joined
    raise ToolError(
        f"{what} holds \\u{ord(lone[0]):04x} at character {lone.start() + 1}: half of a surrogate pair, which is no "
        "character. Send the character itself or both halves."
    )


def size(count: int) -> str:
    """A number of bytes for people: `812 bytes`, `3.4 MB` (decimal units)."""
    if count < 1000:
        return f"{count} byte{'' if count == 1 else 's'}"
    value = count / 1000
    units = iter(_UNITS)
    unit = next(units)
    while value >= _ROUNDS_UP:
        value /= 1000
        unit = next(units)
    return f"{value:.1f} {unit}"


def plural(count: int, noun: str) -> str:
    """`1 line`, `2 lines`, `1,200 lines`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def few(names: Collection[str], most: int) -> str:
    """The first names, made `visible`, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(visible(name) for name in islice(names, most)) + more


def clip(text: str, limit: int) -> str:
    """text cut to limit characters, saying how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}… [+{len(text) - limit:,} characters]"


def clip_around(text: str, start: int, limit: int) -> str:
    """limit characters of text with position start among them, `…` where it was cut."""
    if len(text) <= limit:
        return text
    left = max(0, min(start - limit // 3, len(text) - limit))
    right = left + limit
    return f"{'…' if left else ''}{text[left:right]}{'…' if right < len(text) else ''}"
