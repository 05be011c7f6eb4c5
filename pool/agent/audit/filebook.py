"""What files held over a record: taken from checkpoints, from trees before and after, or from what calls say."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pool.agent.audit.callarguments import Wanted
from pool.agent.audit.filekinds import is_test
from pool.agent.audit.record import Change, Edit

MOST_FILE_BYTES = 1 << 20
"""Larger files are not looked into."""

TOO_LARGE = "\0too large to be looked into\0"
"""Begins what stands for the contents of a larger file."""

MOST_FILES = 20_000
"""Of a tree so many files are compared."""

MOST_TEST_CHARS = 400_000
"""Of the tests' text so much is kept."""

SKIPPED_FOLDERS = frozenset({".git", ".hg", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".pytest_cache"})
_NUMBERED = re.compile(r"^\s*\d+(?:\t|[|→:] ?|  )", re.MULTILINE)


def decoded(data: bytes | None) -> str | None:
    """Bytes as text that can be made bytes again; None for no file. Of a large file only a mark of its contents."""
    if data is None:
        return None
    if len(data) > MOST_FILE_BYTES:
        return _mark(data[:MOST_FILE_BYTES], len(data))
    return data.decode("utf-8", "surrogateescape")


def _mark(beginning: bytes, size: int) -> str:
    return f"{TOO_LARGE}{size} {hashlib.sha256(beginning).hexdigest()}"


class FileBook:
    """Follows the contents of files from call to call, as far as the record tells."""

    def __init__(self, original: Path | None = None) -> None:
        self._original = original
        self._known: dict[str, str] = {}

    def shown(self, path: str, text: str) -> None:
        """A reading tool showed a file, maybe with line numbers, maybe only a part of it."""
        lines = [line for line in text.splitlines() if line.strip()]
        if path and len(lines) and sum(bool(_NUMBERED.match(line)) for line in lines) * 2 > len(lines):
            kept = (line for line in text.splitlines(keepends=True) if _NUMBERED.match(line))
            text = "".join(_NUMBERED.sub("", line, count=1) for line in kept)
        self._known.setdefault(path, text)

    def apply(self, wanted: Wanted, step: int, agent: str) -> Edit:
        """What a change does to its file; without the file, what it does to the part that it names."""
        path = wanted.path
        before = self._text(path)
        if wanted.new is None:
            self._known.pop(path, None)
            return Edit(step, path, before or "", None, before is not None, agent)
        if wanted.old is None:
            after = (before or "") + wanted.new if wanted.adds else wanted.new
            whole = before is not None and not wanted.adds
            self._known[path] = after
            return Edit(step, path, before if before is not None else "", after, whole, agent)
        if before is None or wanted.old not in before:
            return Edit(step, path, wanted.old, wanted.new, False, agent)
        self._known[path] = after = before.replace(wanted.old, wanted.new, 1)
        return Edit(step, path, before, after, True, agent)

    def knows(self, path: str, text: str | None) -> None:
        """What a file holds now, from a better source."""
        if text is None:
            self._known.pop(path, None)
        else:
            self._known[path] = text

    def _text(self, path: str) -> str | None:
        if path not in self._known and self._original is not None and not os.path.isabs(path):
            text = read_text(self._original / path)
            if text is not None:
                self._known[path] = text
        return self._known.get(path)


def net_changes(edits: Sequence[Edit]) -> list[Change]:
    """What became of each file from its first edit to its last; parts of files one by one, without those undone."""
    whole: dict[str, list[Edit]] = {}
    parts: list[Edit] = []
    for edit in edits:
        if edit.whole:
            whole.setdefault(edit.path, []).append(edit)
            continue
        undone = next((i for i, p in enumerate(parts) if (p.path, p.before, p.after) == _reverse(edit)), None)
        if undone is None:
            parts.append(edit)
        else:
            parts.pop(undone)
    out = [Change(path, those[0].before, those[-1].after, those) for path, those in whole.items()]
    out = [change for change in out if change.before != change.after]
    return out + [Change(edit.path, edit.before, edit.after, [edit], whole=False) for edit in parts]


def _reverse(edit: Edit) -> tuple[str, str | None, str | None]:
    return edit.path, edit.after, edit.before


def tree_changes(original: Path, result: Path, edits: Sequence[Edit]) -> list[Change]:
    """What differs between two trees; edits say which step did it. Raises `OSError` if a tree cannot be read."""
    before, after = files_of(original), files_of(result)
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    out: list[Change] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = (_bytes(found.get(path)) for found in (before, after))
        if old != new:
            out.append(Change(path, decoded(old), decoded(new), by_path.get(path, [])))
    return out


def files_of(root: Path) -> dict[str, Path]:
    """The plain files below a folder by their path in it; links, and what tools keep for themselves, left out."""
    out: dict[str, Path] = {}
    for folder, folders, names in os.walk(root, onerror=_raise):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            place = Path(folder, name)
            if not place.is_symlink() and place.is_file() and not name.endswith(".pyc"):
                out[place.relative_to(root).as_posix()] = place
            if len(out) >= MOST_FILES:
                return out
    return out


def _raise(error: OSError) -> None:
    raise error


def _bytes(place: Path | None) -> bytes | None:
    if place is None:
        return None
    try:
        with place.open("rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
        return data if len(data) <= MOST_FILE_BYTES else _mark(data[:-1], place.stat().st_size).encode()
    except OSError:
        return None


def read_text(place: Path) -> str | None:
    """A file's text, None if there is none that can be read."""
    data = _bytes(place if place.is_file() and not place.is_symlink() else None)
    return decoded(data)


def tests_text(roots: Sequence[Path], changes: Sequence[Change], shown: Mapping[str, str]) -> str:
    """The text of all tests that are known: as they were before the run where that is known."""
    texts = {change.path: change.before for change in changes if is_test(change.path) and change.before}
    texts |= {path: text for path, text in shown.items() if is_test(path) and path not in texts}
    left = MOST_TEST_CHARS - sum(map(len, texts.values()))
    for root in roots:
        for path, place in _tests_below(root):
            if left > 0 and path not in texts:
                texts[path] = read_text(place) or ""
                left -= len(texts[path])
    return "\n".join(texts.values())[:MOST_TEST_CHARS]


def _tests_below(root: Path) -> Iterator[tuple[str, Path]]:
    try:
        yield from ((path, place) for path, place in files_of(root).items() if is_test(path))
    except OSError:
        return
