"""A shell command taken apart: every program it calls, every file it redirects to or from, and what is not understood.

The tree comes from tree-sitter's bash grammar, which mends what it does not understand. So nothing is taken on trust:
only kinds of nodes that are known are walked, every character between them must be blank, and every word is read again
from its source. What does not come out even is unclear, and what is unclear asks.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pool.agent.rules.words import Unclear
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from tree_sitter import Parser

    from pool.agent.rules.commands import Command

MOST_CHARS = 50_000
MOST_DEPTH = 40
"""So deep may a command nest."""

MOST_FOLDERS = 8
"""So many working folders may be possible after several `cd`."""


@frozen
class FileUse:
    """A redirection. paths are the absolute paths that it may mean, depending on where a `cd` led."""

    paths: tuple[PurePosixPath, ...]
    writes: bool
    shown: str


@frozen
class Script:
    """What a command does, as far as it can be seen. unclear says what cannot; empty if nothing is left."""

    commands: tuple[Command, ...]
    files: tuple[FileUse, ...]
    unclear: tuple[str, ...]


def parse_script(text: str, folder: PurePosixPath) -> Script:
    """Take a command apart that starts in folder, an absolute path. Never raises."""
    from pool.agent.rules.reader import Reader

    reader = Reader(folder)
    try:
        reader.read(text)
    except Unclear as why:
        reader.unclear.append(str(why))
    return Script(tuple(reader.commands), tuple(reader.files), tuple(dict.fromkeys(reader.unclear)))


def checked_source(text: str) -> bytes:
    """The text as UTF-8. Raises `Unclear` for characters that shells, parsers and people may see differently."""
    if len(text) > MOST_CHARS:
        raise Unclear(f"it is longer than {MOST_CHARS:,} characters")
    for char in text:
        if char not in "\n\t " and unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cs", "Co", "Cn"):
            raise Unclear(f"the character U+{ord(char):04X}")
    return text.encode()


@cache
def bash_parser() -> Parser:
    """The parser, loaded when the first command is parsed."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
