"""The words of a shell command as bash would read them, or the admission that only bash can."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pool_tools.frozen import frozen

_PATTERN_CHARS = frozenset("*?[]{}")
_BREAKS_WORD = frozenset(" \t\n|&;<>()'\"`$")
_ESCAPED_IN_QUOTES = frozenset('$`"\\')
_TILDE = re.compile(r"(?:^|[=:])~")
_EXPANDS_AFTER_DOLLAR = re.compile(r"[A-Za-z_0-9@*#?$!\-({\['\"]")


class Unclear(Exception):
    """A command, or a part of one, that is not understood. The message says what and is shown to people."""


@frozen
class Word:
    """One word of a command.

    text is its value if it is literal, else its source. A word that is not literal stands for something that only the
    shell will know: a variable, the output of a command, file names; splits says that it may become several words or
    none. sharp: no wildcard of a rule covers it, the rule has to spell it.
    """

    text: str
    literal: bool = True
    splits: bool = False
    sharp: bool = False

    def sharpened(self) -> Word:
        """The same word, which no wildcard covers."""
        return replace(self, sharp=True)


UNKNOWN = Word("…", literal=False, splits=True)
"""Stands for words that are not known before the command runs, such as those that xargs reads."""


def bare(raw: str) -> Word:
    """An unquoted word from its source."""
    out: list[str] = []
    literal = True
    i = 0
    while i < len(raw):
        char = raw[i]
        if char == "\\":
            if i + 1 == len(raw):
                raise Unclear("a backslash with nothing after it")
            if raw[i + 1] == "\n":
                raise Unclear("a line that goes on inside a word")
            out.append(raw[i + 1])
            i += 2
            continue
        if char in _BREAKS_WORD:
            raise Unclear(f"the character {char!r} inside the word {raw!r}")
        literal = literal and char not in _PATTERN_CHARS
        out.append(char)
        i += 1
    if not literal or _TILDE.search(raw):
        return Word(raw, literal=False, splits=True)
    return Word("".join(out))


def single_quoted(raw: str) -> Word:
    """A word in single quotes from its source."""
    if len(raw) < 2 or raw[0] != "'" or raw[-1] != "'" or "'" in raw[1:-1]:
        raise Unclear(f"the quotes of {raw!r}")
    return Word(raw[1:-1])


def double_quoted_text(raw: str) -> str:
    """The value of a piece between double quotes that holds no expansion; raises `Unclear` if it does."""
    out: list[str] = []
    i = 0
    while i < len(raw):
        char, following = raw[i], raw[i + 1 : i + 2]
        if char == "\\" and following == "\n":
            if out[-1:] == ["$"]:
                raise Unclear("a line that goes on inside a word")
            i += 2
            continue
        if char == "\\" and not following:
            raise Unclear("a backslash before the end of quotes")
        if char == "\\" and following in _ESCAPED_IN_QUOTES:
            out.append(following)
            i += 2
            continue
        if char in '"`' or (char == "$" and following and _EXPANDS_AFTER_DOLLAR.match(following)):
            raise Unclear(f"the character {char!r} inside quotes")
        out.append(char)
        i += 1
    return "".join(out)


def joined(parts: Iterable[Word]) -> Word:
    """Words that stand side by side as one."""
    found = tuple(parts)
    if len(found) == 1:
        return found[0]
    literal = all(p.literal for p in found)
    text = "".join(p.text for p in found)
    braces = "{" in text and any(not p.literal for p in found)
    return Word(text, literal=literal, splits=braces or any(p.splits for p in found))
