"""Private folders for temporary files, and the removal of those whose process died before it could remove them.

A folder is held by a lock on the folder itself, which the kernel drops with its holder's last descriptor, however that
ends. Unlike a process id in the name that is right across containers that share a temporary folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path

from pool_tools.frozen import frozen

SWEEP_MOST = 64
"""Folders that are removed at one start; the rest is left to the next ones."""

_PREFIX = "pool-private-"
_NAME = re.compile(re.escape(_PREFIX) + r"[a-z]+-[a-z0-9_]{8}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class PrivateFolder:
    """A folder that only the user can enter. lock is the descriptor that says that its owner lives."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove it with all that is in it, as far as that can be done."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def make_private(purpose: str, parent: Path | None = None) -> PrivateFolder:
    """A new one in parent, by default among the temporary files, where `sweep` looks. Raises `OSError`.

    purpose, a lower-case word, is in its name.
    """
    while True:
        path = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{_PREFIX}{purpose}-", dir=parent)))
        # Until it is locked another process may take it for a dead one's, and remove it.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, _FOLDER)
            # A file system without locks: such a folder is never swept.
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if path.is_dir():
                return PrivateFolder(path, lock)
            os.close(lock)


@contextlib.contextmanager
def private_folder(purpose: str) -> Generator[Path]:
    """A private folder that is removed at the end of the block."""
    folder = make_private(purpose)
    try:
        yield folder.path
    finally:
        folder.remove()


def sweep_in_background() -> None:
    """`sweep` in a thread that nothing waits for: what the process's end breaks off, the next start goes on with."""
    threading.Thread(target=sweep, name="sweep", daemon=True).start()


def sweep() -> None:
    """Remove the private folders of this user that nobody holds. Never raises."""
    with contextlib.suppress(OSError), _opened(tempfile.gettempdir(), None) as parent:
        names = [name for name in os.listdir(parent) if _NAME.fullmatch(name)]
        for name in names[:SWEEP_MOST]:
            with contextlib.suppress(OSError):
                _remove_dead(name, parent)


def _remove_dead(name: str, parent: int) -> None:
    with _opened(name, parent) as folder:
        found = os.fstat(folder)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != stat.S_IRWXU:
            return
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Below a handle of the parent; what is in it is removed without following links.
        shutil.rmtree(name, ignore_errors=True, dir_fd=parent)


@contextlib.contextmanager
def _opened(path: str, parent: int | None) -> Generator[int]:
    handle = os.open(path, _FOLDER if parent is not None else _FOLDER & ~os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield handle
    finally:
        os.close(handle)
