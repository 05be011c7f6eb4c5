"""Where live runs are found: a socket and a locked record for each, in a folder that is the user's alone.

The record is locked by the process that works the run, for as long as it lives. A record that nobody has locked belongs
to a process that is gone, however it went; whoever looks then takes record and socket away. The folder is not below
XDG_RUNTIME_DIR, which goes when the user logs out, while a run may stay.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from pool.sessions.store import sessions_folder
from pool_tools.frozen import frozen

LIVE_FOLDER = "live"
RECORD, SOCKET, LOG = ".json", ".sock", ".log"
BACKLOG = 16
MOST_RECORD_BYTES = 64 * 1024
OLD_LOG_SECONDS = 7 * 86_400.0
"""What a process said that failed inside is kept for so long."""

_PRIVATE = 0o700
_MODE = 0o600


class PlaceError(Exception):
    """The folder of live runs cannot be used. The message says why, and what to do."""


@frozen
class LiveRecord:
    """A live run as its record says. started is Unix time in seconds; ephemeral runs have no log to read."""

    session: str
    pid: int
    workspace: str
    started: float
    prompt: str
    ephemeral: bool = False


@frozen
class Attachment:
    """A live run for a face to show. only_new leaves out what happened before."""

    record: LiveRecord
    only_new: bool = False


def live_folder() -> Path:
    """The folder, made if it is not there. Raises `PlaceError` if it is not the user's alone."""
    folder = sessions_folder().with_name(LIVE_FOLDER)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PlaceError(f"{folder} is not a folder of yours; take it away")
        if stat.S_IMODE(found.st_mode) != _PRIVATE:
            folder.chmod(_PRIVATE)
    except OSError as error:
        raise PlaceError(f"the folder of live runs cannot be used: {error.strerror} ({folder})") from None
    return folder


@contextmanager
def short_name(path: Path) -> Generator[str]:
    """A name for a socket that fits the system's limit of 108 bytes, wherever its folder lies."""
    handle = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{path.name}"
    finally:
        os.close(handle)


class Place:
    """A live run's record and listening socket, held by the process that works it until `close`."""

    def __init__(self, record: LiveRecord) -> None:
        """Raises `PlaceError` if they cannot be made, or another process works the session."""
        folder = live_folder()
        self._record = folder / f"{record.session}{RECORD}"
        self._path = folder / f"{record.session}{SOCKET}"
        self._file = self._locked(record)
        try:
            self._path.unlink(missing_ok=True)
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            with short_name(self._path) as name:
                self.socket.bind(name)
            self._path.chmod(_MODE)
            self.socket.listen(BACKLOG)
            self.socket.setblocking(False)
        except OSError as error:
            self._record.unlink(missing_ok=True)
            os.close(self._file)
            raise PlaceError(f"no socket for the run: {error.strerror} ({self._path})") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take socket and record away, then let the lock go."""
        self.socket.close()
        for path in (self._path, self._record):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        os.close(self._file)

    def _locked(self, record: LiveRecord) -> int:
        """The record's file, written and locked. One that somebody takes away before it is locked is made again."""
        row = {one.name: getattr(record, one.name) for one in fields(LiveRecord)}
        while True:
            try:
                file = os.open(self._record, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
            except OSError as error:
                raise PlaceError(f"no record for the run: {error.strerror} ({self._record})") from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                raise PlaceError(f"session {record.session} is live already: pool attach {record.session}") from None
            if os.fstat(file).st_nlink:
                self._fill(file, json.dumps(row).encode())
                return file
            os.close(file)

    def _fill(self, file: int, data: bytes) -> None:
        """Write the record; where it does not fit on the disk, nothing of it is left."""
        try:
            os.ftruncate(file, 0)
            if os.write(file, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._record.unlink(missing_ok=True)
            os.close(file)
            raise PlaceError(f"no record for the run: {error.strerror} ({self._record})") from None


def live_records() -> list[LiveRecord]:
    """The live runs of this user, the oldest first; what dead ones left is taken away. Raises `PlaceError`."""
    folder = live_folder()
    found: list[LiveRecord] = []
    for path in sorted(folder.iterdir()):
        if path.suffix == RECORD and (record := _living(path)) is not None:
            found.append(record)
        elif path.suffix == LOG:
            _forget_old(path)
    for path in folder.glob(f"*{SOCKET}"):
        if not path.with_suffix(RECORD).exists():
            path.unlink(missing_ok=True)
    return sorted(found, key=lambda record: record.started)


def socket_of(record: LiveRecord) -> Path:
    """Where the run listens."""
    return live_folder() / f"{record.session}{SOCKET}"


def log_of(session: str) -> Path:
    """Where the run's process says what nobody was there to read."""
    return live_folder() / f"{session}{LOG}"


def _living(path: Path) -> LiveRecord | None:
    """The record if its process lives; else None, and nothing of it is left."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return _read(os.read(file, MOST_RECORD_BYTES))
    else:
        for gone in (path.with_suffix(SOCKET), path):
            with contextlib.suppress(OSError):
                gone.unlink(missing_ok=True)
        return None
    finally:
        os.close(file)


def _read(data: bytes) -> LiveRecord | None:
    try:
        value: Any = json.loads(data)
        row = cast(dict[str, Any], value)
        return LiveRecord(
            session=str(row["session"]),
            pid=int(row["pid"]),
            workspace=str(row["workspace"]),
            started=float(row["started"]),
            prompt=str(row["prompt"]),
            ephemeral=bool(row.get("ephemeral")),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _forget_old(path: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > OLD_LOG_SECONDS:
            path.unlink()
