"""Writing a file as a whole: it is the old one or the new one, never a part; and one change of it after the other."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PRIVATE_MODE = 0o600
SHARED_MODE = 0o644

WAIT_SECONDS = 15.0
"""How long another change of the same folder is waited for: a keyring may be part of it, which takes its time."""

_POLL_SECONDS = 0.02


def write_whole(path: Path, text: str, mode: int = PRIVATE_MODE) -> None:
    """Replace a file, or make it and its folders (which are its owner's alone). Raises OSError, which names it."""
    name = ""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
        raise


@contextmanager
def changing(path: Path) -> Generator[None]:
    """Read a file, change and write it in here, and no other command of Pool's does so meanwhile. Not to be nested.

    Raises OSError where another one takes longer than `WAIT_SECONDS`. Where the folder cannot be made or locked,
    nothing is held: writing says what is wrong.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        _hold(folder, path)
        yield
    finally:
        os.close(folder)


def _hold(folder: int, path: Path) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise OSError(errno.EAGAIN, "another command changes it; try again", str(path)) from None
            time.sleep(_POLL_SECONDS)
        except OSError:
            # Some network file systems have no such locks.
            return
        else:
            return
