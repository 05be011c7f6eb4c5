"""The shell commands that the documentation shows in its blocks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(<!-- not run: [^>]* -->\n)?^```(sh|bash|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FRAME = ";&|()<>"
"""Characters at which a command's own words end."""


def pages() -> list[str]:
    """Pages for people who use Pool, by their path in the tree."""
    paths = (*ROOT.glob("README*.md"), ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md"))
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def blocks(page: str) -> Iterator[tuple[str, bool]]:
    """A page's blocks of shell commands, with whether a test runs them. Of a dialogue the commands alone."""
    for match in BLOCK.finditer((ROOT / page).read_text("utf-8")):
        text = match[3]
        if re.search(r"^\$ ", text, re.MULTILINE):
            text = "".join(f"{line[2:]}\n" for line in text.splitlines() if line.startswith("$ "))
        yield text, not match[1]


def commands(page: str) -> Iterator[str]:
    """Every `pool` command of a page's blocks, those inside of others' arguments too, as a line that a shell reads."""
    for text, _ in blocks(page):
        for line in text.replace("\\\n", " ").splitlines():
            yield from (shlex.join(["pool", *words]) for words in _in_line(line))


def _in_line(line: str) -> Iterator[list[str]]:
    own: list[str] | None = None
    for token in (*_tokens(line), ";"):
        if not token.strip(FRAME):
            if own is not None:
                yield own
            own = None
        elif own is not None:
            own.append(token)
        elif token == "pool":
            own = []
        elif " pool " in f" {token} " and " " in token:
            yield from _in_line(token)


def _tokens(line: str) -> list[str]:
    """The words of a line of shell; none of a line that goes on in the next one."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=FRAME)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return []
