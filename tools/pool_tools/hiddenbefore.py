"""Which secret files earlier sessions in a workspace hid from commands.

An entry in git's index says that a repository keeps a file, and is taken for the user's word; but a command can write
one for a file that it has never seen. So of a file that was hidden once, the entry must name the content as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Collection
from dataclasses import astuple
from pathlib import Path
from typing import Any

from pool_tools.frozen import frozen

MOST_KEPT = 500
"""So many files that are not found any more are remembered, the newest."""

MOST_BYTES = 1024 * 1024


@frozen
class _Mark:
    """A file by its path, and by what stays the same when a folder above it is renamed."""

    path: str
    inode: int
    size: int
    mtime_ns: int


class HiddenBefore:
    """The list of one workspace. file: where it is kept, which commands must not see; None for none. Never raises."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._marks = [] if file is None else _read(file)
        self._paths = {mark.path for mark in self._marks}
        self._stamps = {_stamp(mark) for mark in self._marks}

    def has(self, path: str) -> bool:
        """Whether a file was hidden, under this name or another."""
        if not self._marks:
            return False
        now = _mark(path)
        return path in self._paths or (now is not None and _stamp(now) in self._stamps)

    def keep(self, hidden: Collection[str], shown: Collection[str]) -> None:
        """Remember those that are hidden now, and no more those that are shown."""
        old = [mark for mark in self._marks if mark.path not in hidden and mark.path not in shown]
        marks = [*old[-MOST_KEPT:], *(mark for path in sorted(hidden) if (mark := _mark(path)) is not None)]
        if self._file is not None and marks != self._marks:
            with contextlib.suppress(OSError):
                _write(self._file, json.dumps([astuple(mark) for mark in marks]).encode())


def _mark(path: str) -> _Mark | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return _Mark(path, found.st_ino, found.st_size, found.st_mtime_ns)


def _stamp(mark: _Mark) -> tuple[int, int, int]:
    return mark.inode, mark.size, mark.mtime_ns


def _read(file: Path) -> list[_Mark]:
    try:
        with file.open("rb") as opened:
            rows: Any = json.loads(opened.read(MOST_BYTES))
        return [_Mark(str(path), int(inode), int(size), int(mtime)) for path, inode, size, mtime in rows]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp gives the file mode 0600.
    handle, name = tempfile.mkstemp(prefix=".new-", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(data)
        os.replace(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
