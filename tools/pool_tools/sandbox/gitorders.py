"""The files of a repository that git takes orders from: which they are, and what is in them."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.home import expanded
from pool_tools.sandbox.gitconfig import included
from pool_tools.sandbox.gitfiles import listed, read_regular

KEPT_BYTES = 4 * 1024 * 1024
"""Largest file whose content is kept to be put back."""

MOST_MODULES = 500
"""Folders of submodules that are looked at."""

_FILES = ("config", "config.worktree", "commondir")
_FOLDERS = ("hooks", "modules", "worktrees")
_SAMPLE = ".sample"


class Kind(Enum):
    """What a path is."""

    FILE = auto()
    LINK = auto()
    FOLDER = auto()
    OTHER = auto()
    """No file, or none that may be read."""


@frozen
class Order:
    """One file as it is. fingerprint changes with any change of it. data: content, or where a link leads; None for a
    folder and for what is too large to be kept.
    """

    fingerprint: tuple[int, ...]
    kind: Kind
    data: bytes | None
    mode: int

    def same(self, other: Order) -> bool:
        if self.fingerprint == other.fingerprint or self.kind is other.kind is Kind.FOLDER:
            return True
        mode = self.kind is Kind.LINK or self.mode == other.mode
        return self.kind is other.kind and mode and self.data is not None and self.data == other.data


def look(path: Path, before: Order | None = None) -> Order | None:
    """A file as it is now, None if there is none. before: as it was; not read again if nothing has changed."""
    try:
        found = os.lstat(path)
        mark = _mark(found)
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISDIR(found.st_mode):
            # What is in it has fingerprints of its own.
            return Order((found.st_dev, found.st_ino), Kind.FOLDER, None, mode)
        if before is not None and before.fingerprint == mark:
            return before
        if stat.S_ISLNK(found.st_mode):
            return Order(mark, Kind.LINK, os.fsencode(os.readlink(path)), mode)
        if not stat.S_ISREG(found.st_mode):
            return Order(mark, Kind.OTHER, None, mode)
        try:
            found, data = read_regular(path, KEPT_BYTES)
        except OSError:
            # It may not be read, or there is a link on the way to it.
            return Order(mark, Kind.OTHER, None, mode)
        return Order(_mark(found), Kind.FILE, data, stat.S_IMODE(found.st_mode))
    except OSError:
        return None


def _mark(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def git_folders(folder: Path) -> Iterator[Path]:
    """A git folder and those of its submodules, at any depth; a submodule's name may have slashes in it."""
    yield folder
    todo = deque([folder / "modules"])
    for _ in range(MOST_MODULES):
        if not todo:
            return
        for entry in _folders_in(todo.popleft()):
            if os.path.exists(entry / "HEAD") or os.path.exists(entry / "config"):
                yield entry
                todo.append(entry / "modules")
            else:
                todo.append(entry)


def order_files(folder: Path) -> Iterator[Path]:
    """Everything in one git folder that git takes orders from, whether it is there or not; folders before files."""
    yield from (folder / name for name in _FOLDERS)
    yield from (folder / name for name in _FILES)
    if not (folder / "hooks").is_symlink():
        yield from (path for path in _entries(folder / "hooks") if path.suffix != _SAMPLE)
    for tree in _folders_in(folder / "worktrees"):
        yield from (tree / name for name in ("config.worktree", "commondir", "gitdir"))


def included_files(config: Path, order: Order, roots: list[Path]) -> Iterator[Path]:
    """Files inside roots that a configuration takes in."""
    for name in included((order.data or b"").decode("utf-8", "surrogateescape")):
        path = Path(os.path.realpath(config.parent / expanded(name)))
        if any(path.is_relative_to(root) for root in roots):
            yield path


def _folders_in(folder: Path) -> Iterator[Path]:
    if not folder.is_symlink():
        yield from (path for path in _entries(folder) if os.path.isdir(path) and not path.is_symlink())


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder / name for name in listed(folder))
    except OSError:
        return []
