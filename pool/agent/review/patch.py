"""A unified diff, as git, diff and mail write it, read into files, hunks and numbered lines.

Bytes come from anywhere: what is no diff is passed over, a hunk that is cut short ends where the text ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from pool_tools.frozen import frozen

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_COMBINED = re.compile(r"@@@+ -")
_MOST_DIGITS = 9
_NOWHERE = "/dev/null"
_GIT = "diff --git "
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_SIGNS = frozenset(" +-")
_PREFIXES = frozenset({"a/", "b/", "c/", "i/", "w/", "o/", "1/", "2/"})


class Change(StrEnum):
    """What became of a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@frozen
class Line:
    """A line of a hunk. sign is a blank, `+` or `-`; number is that of the new file, 0 for a line that is gone."""

    sign: str
    text: str
    number: int


@frozen
class Hunk:
    """Changes that stand close together; start is the new file's number of its first line."""

    start: int
    lines: tuple[Line, ...]


@frozen
class FilePatch:
    """What a diff does to one file. path is the new name, the old one of a file that is deleted.

    note says why there are no hunks: binary, only renamed, not readable here.
    """

    path: str
    change: Change
    hunks: tuple[Hunk, ...] = ()
    before: str = ""
    note: str = ""

    @property
    def counts(self) -> tuple[int, int]:
        """Lines added and removed."""
        signs = [line.sign for hunk in self.hunks for line in hunk.lines]
        return signs.count("+"), signs.count("-")


def read_patch(text: str) -> list[FilePatch]:
    """The files of a diff in their order; [] if the text holds none."""
    return list(_Reader(text.split("\n")).files())


def numbered(signed: Iterable[tuple[str, str]], start: int) -> Hunk:
    """A hunk of signs and texts, its lines numbered from start."""
    lines: list[Line] = []
    number = start
    for sign, text in signed:
        lines.append(Line(sign, text, 0 if sign == "-" else number))
        number += sign != "-"
    return Hunk(start, tuple(lines))


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def files(self) -> Iterator[FilePatch]:
        while self._at < len(self._lines):
            line = self._lines[self._at].rstrip("\r")
            if line.startswith(_GIT):
                yield self._git(line)
            elif self._names_here():
                yield self._plain()
            else:
                self._at += 1

    def _names_here(self) -> bool:
        """Whether a plain diff's two lines of names begin here, with a hunk behind them."""
        three = self._lines[self._at : self._at + 3]
        return len(three) == 3 and three[0].startswith("--- ") and three[1].startswith("+++ ") and "@@" in three[2][:4]

    def _plain(self) -> FilePatch:
        old, new = _name(self._lines[self._at][4:]), _name(self._lines[self._at + 1][4:])
        self._at += 2
        return _file(*_bare(old, new), self._hunks())

    def _git(self, line: str) -> FilePatch:
        """A file of git's: its head says what a plain diff cannot say."""
        old, new = _both(line.removeprefix(_GIT))
        head: dict[str, str] = {}
        self._at += 1
        while self._at < len(self._lines):
            here = self._lines[self._at].rstrip("\r")
            if self._names_here():
                named = _bare(_name(here[4:]), _name(self._lines[self._at + 1][4:]))
                self._at += 2
                old, new = (name if name != _NOWHERE else was for name, was in zip(named, (old, new), strict=True))
                break
            word = next((w for w in _HEAD_WORDS if here.startswith(w)), "")
            if not word:
                break
            head[word] = _unquoted(here.removeprefix(word).strip())
            self._at += 1
        return _with_head(old, new, head, self._hunks())

    def _hunks(self) -> tuple[Hunk, ...]:
        found: list[Hunk] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            match = _HUNK.match(line)
            if match is None:
                break
            self._at += 1
            found.append(self._hunk(match))
        return tuple(found)

    def _hunk(self, match: re.Match[str]) -> Hunk:
        old, new = _count(match[1]), _count(match[3])
        signed: list[tuple[str, str]] = []
        while (old > 0 or new > 0) and self._at < len(self._lines):
            line = self._lines[self._at]
            sign = line[:1] or " "
            if sign == "\\":
                self._at += 1
                continue
            if sign not in _SIGNS or (not line and self._at == len(self._lines) - 1):
                break
            signed.append((sign, line[1:].rstrip("\r")))
            old -= sign != "+"
            new -= sign != "-"
            self._at += 1
        if self._at < len(self._lines) and self._lines[self._at].startswith("\\"):
            self._at += 1
        start = int(match[2]) if len(match[2]) <= _MOST_DIGITS else 1
        return numbered(signed, max(1, start))


_HEAD_WORDS = (
    *("old mode ", "new mode ", "deleted file mode ", "new file mode ", "copy from ", "copy to ", "rename from "),
    *("rename to ", "similarity index ", "dissimilarity index ", "index ", "Binary files ", "GIT binary patch"),
)


def _with_head(old: str, new: str, head: dict[str, str], hunks: tuple[Hunk, ...]) -> FilePatch:
    old, new = head.get("rename from ", old), head.get("rename to ", head.get("copy to ", new))
    note = "binary" if "Binary files " in head or "GIT binary patch" in head else ""
    if "deleted file mode " in head:
        return FilePatch(old or new, Change.DELETED, hunks, note=note)
    if "new file mode " in head:
        return FilePatch(new or old, Change.ADDED, hunks, note=note)
    if "rename from " in head:
        return FilePatch(new, Change.RENAMED, hunks, old, note or ("" if hunks else "only renamed"))
    return FilePatch(new or old, Change.MODIFIED, hunks, note=note or ("" if hunks else "no lines changed"))


def _file(old: str, new: str, hunks: tuple[Hunk, ...]) -> FilePatch:
    if new == _NOWHERE:
        return FilePatch(old, Change.DELETED, hunks)
    note = "" if hunks else "a merge's combined diff, which has no lines of one file"
    return FilePatch(new, Change.ADDED if old == _NOWHERE else Change.MODIFIED, hunks, note=note)


def _count(text: str | None) -> int:
    return 1 if text is None else int(text) if len(text) <= _MOST_DIGITS else 0


def _name(text: str) -> str:
    """A name of a `---` or `+++` line: without the time that diff puts behind a tab."""
    quoted = _QUOTED.match(text)
    return _unquoted(quoted[0]) if quoted else text.rstrip("\r").partition("\t")[0].rstrip(" ")


def _both(text: str) -> tuple[str, str]:
    """The two names of git's first line; the same one twice where a blank in it leaves no other reading."""
    if text.startswith('"') and (first := _QUOTED.match(text)):
        rest = text[first.end() :].strip()
        return _bare(_unquoted(first[0]), _unquoted(rest))
    if text.endswith('"') and (at := text.find(' "')) >= 0:
        return _bare(text[:at], _unquoted(text[at + 1 :]))
    half = len(text) // 2
    if len(text) % 2 and text[half] == " " and text[:half].partition("/")[2] == text[half + 1 :].partition("/")[2]:
        return _bare(text[:half], text[half + 1 :])
    old, _, new = text.partition(" b/")
    return _bare(old, f"b/{new}") if new else (text, text)


def _bare(old: str, new: str) -> tuple[str, str]:
    """Names without the letters that git puts before them."""
    names = [name for name in (old, new) if name != _NOWHERE]
    if not names or not all(name[:2] in _PREFIXES for name in names):
        return old, new
    return (old if old == _NOWHERE else old[2:]), (new if new == _NOWHERE else new[2:])


def _unquoted(text: str) -> str:
    """A name as git quotes one that has other signs in it than letters."""
    match = _QUOTED.fullmatch(text)
    if match is None:
        return text
    raw = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(match[1]):
        raw += match[1][at : escape.start()].encode("utf-8", "surrogateescape")
        code = escape[1]
        raw += bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _LETTERS.get(code, code).encode()
        at = escape.end()
    raw += match[1][at:].encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape")
