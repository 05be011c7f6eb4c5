"""The files of a checkout that its command lines name: trust in such a line covers them."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

_MAGIC = frozenset("*?[")

SCRIPT_BYTES = 1024 * 1024
"""Of a larger file that a command names, the beginning and the size count: a start must not wait for hashing."""

FILES_MOST = 200
"""So many files that command lines name are covered."""

FOLDERS_MOST = 8
"""So many folders that command lines name are places to look in, as after `cd` or `--directory`."""

WORDS_MOST = 5_000
"""So many different words are looked for: a file of words alone must not hold up a start."""

_NESTED = 3
"""Lines in lines, as in `bash -c "sh -c 'x'"`."""


def scripts(root: Path, start: Path, lines: Iterable[str]) -> dict[str, str]:
    """Hashes of the files below root that lines name, by their path in it. Commands start in the folder start.

    A word counts as it stands, without an option before `=` or a variable before `/`, and with a pattern as its last
    part. It is looked for in root, in start and in folders that other words name. What the files use in turn is not
    covered.
    """
    top = os.path.realpath(root)
    every = dict.fromkeys(spelling for line in lines for word in _words(line) for spelling in _spellings(word))
    words = list(islice(every, WORDS_MOST))
    places = dict.fromkeys((top, os.path.realpath(start)))
    folders = (path for word in words for path in _named(word, places, top) if os.path.isdir(path))
    places.update(dict.fromkeys(islice((path for path in folders if path != top), FOLDERS_MOST)))
    files = (path for word in words for path in _named(word, places, top) if os.path.isfile(path))
    found = dict.fromkeys(islice(dict.fromkeys(files), FILES_MOST))
    return {os.path.relpath(path, top): _hash_of(path) for path in found}


def _words(line: str, depth: int = 0) -> Iterator[str]:
    # Not at the top: only files that ask for commands need it.
    import shlex

    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    try:
        words = list(lexer)
    except ValueError:
        words = line.split()
    for word in words:
        yield word
        if depth < _NESTED and word != line and any(c.isspace() for c in word):
            yield from _words(word, depth + 1)


def _spellings(word: str) -> Iterator[str]:
    """What of a word may be a path."""
    for part in filter(None, (word, word.partition("=")[2])):
        if "\0" in part:
            continue
        yield part
        # A variable or a command before the first slash stands for a folder, most often the checkout's.
        if part.startswith("/") or "$" in part or "`" in part:
            yield part.partition("/")[2]


def _named(word: str, places: Iterable[str], top: str) -> Iterator[str]:
    """Real paths below top that are there and that a word may mean. Nothing outside is looked at, links aside."""
    inside = top.rstrip("/") + "/"
    for place in places:
        path = os.path.join(place, word)
        plain = os.path.normpath(path)
        if not plain.startswith(inside):
            continue
        # Both, since `link/../x` is beside what the link leads to.
        for one in dict.fromkeys((path, plain)):
            for found in _matching(one) if _MAGIC.intersection(os.path.basename(one)) else (one,):
                if os.path.lexists(found) and (real := os.path.realpath(found)).startswith(inside):
                    yield real


def _matching(path: str) -> Iterator[str]:
    yield path
    folder, pattern = os.path.split(path)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from sorted(entry.path for entry in entries if fnmatch.fnmatchcase(entry.name, pattern))


def _hash_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data, size = file.read(SCRIPT_BYTES), file.seek(0, os.SEEK_END)
            return hashlib.sha256(b"%d %b" % (size, data)).hexdigest()
    except OSError:
        return ""
