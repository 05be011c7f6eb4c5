"""The file of the index of sessions: opened, made anew, or bypassed, so that whoever asks always gets an answer."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pool.sessions import schema

FILE = "index.sqlite3"
LOCK_FILE = "index.lock"
LOCK_SECONDS = 3.0
"""How long another pool's writing is waited for."""

_LOCK_PAUSE_SECONDS = 0.02
_MODE = 0o600
_PRIMARY_CODE = 0xFF
_UNUSABLE = frozenset(
    {
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
"""Errors that say nothing against what is in the file."""

T = TypeVar("T")


class IndexFile:
    """One connection to the index of a folder. is_new says that what is connected to is empty."""

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        """say takes a line for people."""
        self._folder = folder
        self._say = say
        self._db: sqlite3.Connection | None = None
        self._lock = -1
        self._remade = self._in_memory = False
        self.is_new = True

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work with the index; if that fails, anew with a new file, and in the end with an empty one in memory.

        work may therefore be done several times; it has to fill an index that `is_new`.
        """
        while True:
            try:
                if self._db is None:
                    self._db = self._memory() if self._in_memory else self._connect()
                return work(self._db)
            except (sqlite3.Error, OSError) as error:
                if self._in_memory:
                    raise
                self._close_connection()
                self._choose_another(error)

    def close(self) -> None:
        """Close the connection and release the lock."""
        self._close_connection()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _connect(self) -> sqlite3.Connection:
        """Raises sqlite3.Error and OSError if the file is damaged, of another version, or cannot be used."""
        if self._lock < 0:
            self._lock = os.open(self._folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        self._share()
        # SQLite would make it as the umask says; it holds prompts and answers. A file that is there is not opened here,
        # since closing it would end the locks that this process has on it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._folder / FILE, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, _MODE))
        db = sqlite3.connect(self._folder / FILE, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            schema.prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _share(self) -> None:
        """Hold off those who would make the file anew. Raises OSError if somebody does so for long."""
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() > until:
                    raise
            time.sleep(_LOCK_PAUSE_SECONDS)

    def _choose_another(self, error: sqlite3.Error | OSError) -> None:
        """Decide what is used instead of a file that failed."""
        self.is_new = True
        if not self._remade and _against_the_file(error) and self._remove():
            self._remade = True
            if not isinstance(error, schema.OtherVersion):
                self._say(f"the index of the sessions was damaged ({error}) and is made anew")
            return
        self._in_memory = True
        if self._folder.is_dir():
            self._say(f"the index of the sessions cannot be used now ({error}); the sessions are read one by one")

    def _remove(self) -> bool:
        """Remove the file, if no other pool has it open: two files would share one journal."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The journal first: one that is left behind would be played into the new file.
            for name in (f"{FILE}-journal", FILE):
                (self._folder / name).unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _memory(self) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None)
        schema.prepare(db)
        return db

    def _close_connection(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _against_the_file(error: sqlite3.Error | OSError) -> bool:
    """Whether an error means that the file's content is bad."""
    if isinstance(error, OSError):
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or (code & _PRIMARY_CODE) not in _UNUSABLE
