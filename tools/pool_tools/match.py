"""Finding the text that an edit means: exactly, then ever a little more loosely, never beyond the matched lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from itertools import accumulate

from pool_tools.frozen import frozen
from pool_tools.indent import find_shift, indentation
from pool_tools.rebuild import LineMaker, cut, plain, rebuild
from pool_tools.textfile import line_end, lines_of, to_lf


class Step(StrEnum):
    """Which rule found the text."""

    EXACT = "exact"
    LINE_ENDS = "line ends"
    TRAILING_BLANKS = "trailing blanks"
    INDENTATION = "indentation"
    TYPOGRAPHY = "typographic quotes, dashes or spaces"


@frozen
class Match:
    """A place in the text, start to end in characters, and what goes there."""

    start: int
    end: int
    new: str


@frozen
class Found:
    """All places that one step found, in order; more than one only counts as found if every place was wanted."""

    step: Step
    matches: tuple[Match, ...]


_LOOK_ALIKES = (
    "'\u2018\u2019\u201a\u201b\u2032",
    '"\u201c\u201d\u201e\u201f\u2033',
    "-\u2010\u2011\u2012\u2013\u2014\u2212",
    " \u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000",
)
_CLASS_OF = {char: f"[{chars}]" for chars in _LOOK_ALIKES for char in chars}


def find(text: str, old: str, new: str, every: bool, loose: bool = True) -> Found | None:
    """The places in text that old means, by the first step that finds any; None if no step does.

    every: places need not be unique in the exact step and in that of line ends and trailing blanks. loose: steps after
    the exact one may be tried.
    """
    if "\n" in text or "\r" not in text:
        return _find(text, old, new, every, loose)
    found = _find(text.replace("\r", "\n"), _cr_to_lf(old), _cr_to_lf(new), every, loose)
    return found and Found(found.step, tuple(Match(m.start, m.end, m.new.replace("\n", "\r")) for m in found.matches))


def _cr_to_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _find(text: str, old: str, new: str, every: bool, loose: bool) -> Found | None:
    """`find` for text whose line ends are `\\n` and `\\r\\n`."""
    found = _exact(text, old, new, every)
    if found or not loose or not old.strip():
        return found
    if old.endswith("\n") and not text.endswith("\n"):
        # The model ended its text with a line end and means the last line, which has none.
        found = _exact(text, to_lf(old)[:-1], to_lf(new).removesuffix("\n"), every)
        if found and all(m.end == len(text) for m in found.matches):
            return Found(Step.LINE_ENDS, found.matches)
    return _trailing(text, old, new) or _indented(text, old, new) or _typographic(text, old, new)


def line_number(text: str, at: int) -> int:
    """The number of the line, from 1, in which the character at stands."""
    return text.count("\n" if "\n" in text else "\r", 0, at) + 1


def _exact(text: str, old: str, new: str, every: bool) -> Found | None:
    starts: list[int] = []
    step = len(old) if every else 1
    at = text.find(old)
    while at >= 0:
        starts.append(at)
        at = text.find(old, at + step)
    if not starts:
        return None
    if ("\r" not in text and "\r" not in new) or to_lf(old) == to_lf(new):
        return Found(Step.EXACT, tuple(Match(at, at + len(old), new) for at in starts))
    return Found(Step.EXACT, tuple(_rebuilt(text, at, old, new) for at in starts))


def _rebuilt(text: str, at: int, old: str, new: str) -> Match:
    """A match with the line ends that the file has there."""
    end = at + len(old)
    start = at - 1 if old.startswith("\n") and text[at - 1 : at] == "\r" else at
    return Match(start, end, rebuild(text[start:end], old, new, _end_at(text, end)))


def _end_at(text: str, at: int) -> str:
    """The line end of the line in which at stands, else the usual one of text."""
    stop = text.find("\n", at)
    if stop < 0:
        return line_end(text)
    return "\r\n" if text[stop - 1 : stop] == "\r" else "\n"


def _pattern(old: str, char: Callable[[str], str]) -> re.Pattern[str]:
    """old as a regular expression in which line ends and blanks before them match any."""
    end = r"\r?\n"
    *lines, last = to_lf(old).split("\n")
    body = "".join("".join(map(char, line.rstrip(" \t"))) + rf"[ \t]*{end}" for line in lines)
    stripped = last.rstrip(" \t")
    if stripped and stripped != last:
        return re.compile(body + "".join(map(char, stripped)) + rf"[ \t]*(?={end}|\Z)")
    return re.compile(body + "".join(map(char, last)))


def _by_pattern(text: str, old: str, new: str, pattern: re.Pattern[str], make: LineMaker) -> list[Match]:
    return [
        Match(m.start(), m.end(), rebuild(m[0], old, new, _end_at(text, m.end()), make)) for m in pattern.finditer(text)
    ]


def _trailing(text: str, old: str, new: str) -> Found | None:
    matches = _by_pattern(text, old, new, _pattern(old, re.escape), plain)
    if not matches:
        return None
    same = all(to_lf(text[m.start : m.end]) == to_lf(old) for m in matches)
    return Found(Step.LINE_ENDS if same else Step.TRAILING_BLANKS, tuple(matches))


def _typographic(text: str, old: str, new: str) -> Found | None:
    pattern = _pattern(old, lambda c: _CLASS_OF.get(c) or re.escape(c))
    matches = _by_pattern(text, old, new, pattern, _keep_typography)
    return Found(Step.TYPOGRAPHY, tuple(matches)) if matches else None


def _keep_typography(file: str, old: str, new: str) -> str:
    """new, with the file's own characters where old and new agree at the start and at the end of the line."""
    old = old.rstrip(" \t")
    before = _common_prefix(old, new)
    after = _common_prefix(old[before:][::-1], new[before:][::-1])
    return file[:before] + new[before : len(new) - after] + file[len(old) - after : len(old)]


def _common_prefix(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _indented(text: str, old: str, new: str) -> Found | None:
    """Whole lines whose words agree and whose indentation differs by one shift."""
    olds = to_lf(old).split("\n")
    words = [line.strip(" \t") for line in olds]
    ends_line = not olds[-1]
    count = len(olds) - ends_line
    lines = lines_of(text)
    file_words = [line.strip(" \t\r\n") for line in lines]
    anchor = max(range(count), key=lambda i: len(words[i]))
    starts = [0, *accumulate(map(len, lines))]
    matches: list[Match] = []
    for at in range(anchor, len(lines) - count + anchor + 1):
        first = at - anchor
        if file_words[at] != words[anchor] or file_words[first : first + count] != words[:count]:
            continue
        region = "".join(lines[first : first + count])
        if not ends_line:
            region = region.removesuffix("\n").removesuffix("\r")
        elif not region.endswith("\n"):
            continue
        start = starts[first]
        shifted = _shifted(region, old, new, _end_at(text, start))
        if shifted is not None:
            matches.append(Match(start, start + len(region), shifted))
    return Found(Step.INDENTATION, tuple(matches)) if matches else None


def _shifted(region: str, old: str, new: str, default_end: str) -> str | None:
    """new with the indentation that region has for old, None if no uniform shift leads there."""
    pairs = [
        (indentation(o), indentation(f))
        for o, f in zip(to_lf(old).split("\n"), cut(region).contents, strict=True)
        if o.strip(" \t")
    ]
    news = [line for line in to_lf(new).split("\n") if line.strip(" \t")]
    shift = find_shift(pairs, [indentation(line) for line in news])
    if shift is None:
        return None
    unreached = False

    def make(_file: str, _old: str, line: str) -> str:
        nonlocal unreached
        if not line.strip(" \t"):
            return line
        moved = shift(indentation(line))
        unreached = unreached or moved is None
        return (moved or "") + line.lstrip(" \t")

    rebuilt = rebuild(region, old, new, default_end, make)
    return None if unreached else rebuilt
