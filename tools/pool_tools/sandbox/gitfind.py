"""Finding the repositories in a workspace again and again, cheaply."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.gitshape import DOT_GIT, is_repository
from pool_tools.sandbox.gitfiles import unlock_folder

MOST_FOLDERS = 5_000
"""Folders that are looked into, those near the top first: looking again takes some 3 µs for each."""

_SKIPPED = frozenset({DOT_GIT, "__pycache__"})
_UNCERTAIN_NS = 50_000_000
"""A folder that changed so shortly before it was read may change again without a new time: it is read again."""


@frozen
class _Folder:
    changed_ns: int
    folders: tuple[str, ...]
    marks: tuple[str, ...]


class RepositoryFinder:
    """Knows which folders below roots hold a `.git`, or are a repository themselves.

    A folder is read anew when its change time says that an entry came or went; that time cannot be set back. Links are
    not followed.
    """

    def __init__(self, roots: Sequence[Path], most: int = MOST_FOLDERS) -> None:
        self._roots = [str(root) for root in roots]
        self._most = most
        self._known: dict[str, _Folder] = {}
        self._locked: set[str] = set()

    def find(self, *, unlock: bool = False) -> list[Path]:
        """Every `.git` (folder, file or link), and every folder that git would take for a repository without one.

        unlock: list also what could be listed before, or was not there; a command may have forbidden that.
        """
        before, self._locked = self._locked, set()
        out: list[Path] = []
        known: dict[str, _Folder] = {}
        todo = deque(self._roots)
        while todo and len(known) < self._most:
            path = todo.popleft()
            folder = None if path in known else self._read(path, unlock=unlock and path not in before)
            if folder is not None:
                known[path] = folder
                todo.extend(folder.folders)
                if folder.marks:
                    out += [Path(path, mark) for mark in folder.marks]
        self._known = known
        return out

    def _read(self, path: str, *, unlock: bool) -> _Folder | None:
        try:
            found = os.lstat(path)
            before = self._known.get(path)
            if before is not None and before.changed_ns == found.st_ctime_ns:
                return before
            if not stat.S_ISDIR(found.st_mode):
                return None
            certain = time.time_ns() - found.st_ctime_ns > _UNCERTAIN_NS
            folders: list[str] = []
            names: set[str] = set()
            if unlock and found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
                unlock_folder(Path(path))
            with os.scandir(path) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except PermissionError:
            self._locked.add(path)
            return None
        except OSError:
            return None
        return _Folder(found.st_ctime_ns if certain else -1, tuple(folders), tuple(_marks(names)))


def _marks(names: set[str]) -> Iterator[str]:
    """What makes a folder with these entries interesting: `.git`, or "" for the folder itself."""
    if DOT_GIT in names:
        yield DOT_GIT
    if is_repository(names):
        yield ""
