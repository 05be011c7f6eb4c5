"""Reading names below a folder by handles: no link is ever followed, so nothing outside is ever read or written."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

READ_TRIES = 3
"""How often a file that changes while it is read is read again."""


@contextlib.contextmanager
def parent_of(root: int, path: str) -> Generator[tuple[int, str]]:
    """A handle of the folder that holds path (relative to the handle root), and the last name.

    Raises `OSError`, also where a name on the way is a link.
    """
    *folders, name = path.split("/")
    here = os.dup(root)
    try:
        for folder in folders:
            below = os.open(folder, FOLDER_FLAGS, dir_fd=here)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def state_of(root: int, path: str) -> os.stat_result | None:
    """What is at path, None if nothing is, or if a name on the way is no folder."""
    try:
        with parent_of(root, path) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def read_at(folder: int, name: str, limit: int) -> tuple[bytes, os.stat_result] | None:
    """The bytes of a file or the target of a link, with its state; None for anything else, or if it is too large.

    A file that changes meanwhile is read again, `READ_TRIES` times at most; then it counts as what cannot be read.
    """
    for _ in range(READ_TRIES):
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                return os.fsencode(os.readlink(name, dir_fd=folder)), found
            if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
                return None
            handle = os.open(name, _READ_FLAGS, dir_fd=folder)
        except OSError:
            return None
        try:
            data = _all_of(handle, found.st_size)
            now = os.fstat(handle)
        except OSError:
            return None
        finally:
            os.close(handle)
        same = (now.st_size, now.st_mtime_ns, now.st_ino) == (found.st_size, found.st_mtime_ns, found.st_ino)
        if same and len(data) == now.st_size:
            return data, now
    return None


def _all_of(handle: int, size: int) -> bytes:
    """Up to size bytes and one more, so that a file that grew is noticed."""
    data = os.read(handle, size + 1)
    if len(data) >= size or not data:
        return data
    parts = [data]
    left = size + 1 - len(data)
    while left and (part := os.read(handle, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
