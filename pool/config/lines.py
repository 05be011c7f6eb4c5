"""On which line of a TOML file a key stands: `tomllib` does not tell, and a person who made a mistake wants to know."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

Path_ = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PART = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_PIECE = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[\[\]{}]|\n|[^"'#\[\]{}\n]+|.''',
    re.DOTALL,
)


def line_of(text: str, key: str) -> int:
    """The line (from 1) on which a dotted key, or else the nearest table above it, is set; 0 if nowhere."""
    wanted = tuple(key.split("."))
    best, depth = 0, 0
    for path, line in statements(text):
        common = path[: len(wanted)]
        if common == wanted:
            return line
        if wanted[: len(path)] == path and len(path) > depth:
            best, depth = line, len(path)
    return best


def statements(text: str) -> Iterator[tuple[Path_, int]]:
    """The keys and table headers of a valid TOML text, as full paths, with their lines. Of an invalid one, some."""
    table: Path_ = ()
    at = 0
    while True:
        at = _end(_BLANK, text, at)
        if at >= len(text):
            return
        line = text.count("\n", 0, at) + 1
        brackets = 2 if text.startswith("[[", at) else 1 if text[at] == "[" else 0
        path, after = _path(text, at + brackets)
        if not path:
            return
        if brackets:
            table = path
            yield table, line
            at = _after_value(text, after + brackets)
        else:
            yield (*table, *path), line
            at = _after_value(text, after + 1)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _path(text: str, at: int) -> tuple[Path_, int]:
    parts: list[str] = []
    while found := _PART.match(text, at):
        parts.append(_plain(found[1]))
        at = found.end()
        if not found[2]:
            break
    return tuple(parts), at


def _plain(part: str) -> str:
    if part[0] not in "\"'":
        return part
    try:
        return str(tomllib.loads(f"x = {part}")["x"])
    except tomllib.TOMLDecodeError:
        return part[1:-1]


def _after_value(text: str, at: int) -> int:
    """Where the line ends on which a value ends that begins at at."""
    depth = 0
    while at < len(text) and (found := _PIECE.match(text, at)):
        piece = found.group()
        at = found.end()
        if piece in ("[", "{"):
            depth += 1
        elif piece in ("]", "}"):
            depth -= 1
        elif piece == "\n" and depth <= 0:
            break
    return at
