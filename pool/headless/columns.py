"""Lines that fit a terminal: widths in columns, cutting, padding, and units that people read."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata

from pool.headless.plain import one_line
from pool_tools.home import home as users_home

NARROW_COLUMNS = 60
_UNITS = ("KB", "MB", "GB", "TB")
_STEP = 1000
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})


def terminal_columns() -> int:
    """Columns of stdout, 0 where lines need not fit: it is a file or a pipe, and COLUMNS does not say otherwise."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return 0
    return shutil.get_terminal_size().columns


def width(text: str) -> int:
    """How many columns a text of one line takes."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def cut(text: str, columns: int) -> str:
    """A text made safe to print and cut to so many columns, with a sign that it was."""
    text = one_line(text)
    if width(text) <= columns:
        return text
    out, left = "", columns - 1
    for char in text:
        left -= _char_width(char)
        if left < 0:
            break
        out += char
    return f"{out}…" if columns > 0 else ""


def cut_front(text: str, columns: int) -> str:
    """As `cut`, but the end stays: of a path it says most."""
    text = one_line(text)
    if width(text) <= columns:
        return text
    return f"…{cut(text[::-1], columns)[-2::-1]}" if columns > 1 else "…"


def pad(text: str, columns: int) -> str:
    """A text with blanks up to so many columns."""
    return text + " " * (columns - width(text))


def home_short(path: str) -> str:
    """A path with the home folder as ~."""
    home = str(users_home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def size(count: float) -> str:
    """Bytes, as 4.2 MB."""
    if count < _STEP:
        return f"{count:.0f} B"
    for unit in _UNITS:
        count /= _STEP
        if count < _STEP:
            return f"{count:.1f} {unit}"
    return f"{count:,.1f} {_UNITS[-1]}"


def _char_width(char: str) -> int:
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
