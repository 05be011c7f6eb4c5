"""The session log: one file of JSON lines per session, each record whole or absent whatever happens.

The first line describes the session, every other is a durable event as `pool.events.to_dict` gives it, so the log holds
the exact bytes of every message. Records are appended with one write each and forced to disk before what depends on
them goes on: a message before the next request, a call before its effects, a result after them. A torn last line (kill,
power loss, full disk) is cut off when the log is opened again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from pool.events import SCHEMA_VERSION, Event, RunStarted, to_dict
from pool_tools.frozen import frozen

SYNCED = frozenset(
    {
        "message.added",
        "head.set",
        "history.compacted",
        "call.started",
        "call.finished",
        "run.finished",
        "session.named",
        "rewound",
        "plan.decided",
        "task.started",
    }
)
"""Kinds of events after which the file is forced to disk; others go with the next of these."""

FAST_BYTES = 1_000_000
"""From this size on a log is read with a faster parser."""

LOCK_TRIES = 6
LOCK_PAUSE_SECONDS = 0.02
"""Somebody who only looks whether a session is in use holds its lock for a moment."""

LOG_MODE = 0o600
FOLDER_MODE = 0o700


class SessionBusy(Exception):
    """The session is open in another process. The message says which session."""


@frozen
class Header:
    """The first line of a log. created is Unix time in seconds; workspace an absolute path.

    forked_from is the id of the session that its first messages are copied from, parent that of the one that gave it
    its task, where it is a subagent's; "" if there is none.
    """

    id: str
    workspace: str
    created: float
    pool: str
    v: int = SCHEMA_VERSION
    forked_from: str = ""
    parent: str = ""

    def row(self) -> dict[str, Any]:
        """It as the log keeps it."""
        row = {"type": "session", "v": self.v, "id": self.id, "workspace": self.workspace}
        others = {"forked_from": self.forked_from, "parent": self.parent}
        given = {name: session for name, session in others.items() if session}
        return {**row, "created": self.created, "pool": self.pool, **given}


class SessionLog:
    """Appends to one session's file and holds its lock. A lock ends with the process that held it.

    drop_unused: the file goes with `close` if no run was ever started. say takes a line for people, once when records
    can no longer be saved and once when they can again: the run goes on meanwhile, and what was not saved is kept in
    memory and tried again with each record.
    """

    def __init__(self, path: Path, say: Callable[[str], object], *, new: bool = False) -> None:
        """Open and lock a file; new: make it. Raises `SessionBusy`, and `OSError` if it cannot be opened."""
        self.path = path
        self._say = say
        self._size = self._synced = 0
        self._waiting: deque[bytes] = deque()
        self._unsynced: list[bytes] = []
        self._failed = False
        self._torn = False
        self.drop_unused = False
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if new else 0), LOG_MODE)
        try:
            self._lock()
        except BaseException:
            os.close(self._file)
            raise

    @classmethod
    def create(cls, folder: Path, header: Header, say: Callable[[str], object]) -> SessionLog:
        """A new log below folder. Raises OSError if the folder cannot be made or written."""
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        log = cls(folder / f"{header.id}.jsonl", say, new=True)
        log.write(header.row(), sync=True)
        sync_folder(folder)
        return log

    @classmethod
    def reopen(cls, path: Path, say: Callable[[str], object]) -> tuple[SessionLog, list[dict[str, Any]], int]:
        """An existing log, its rows, and how many bytes of damage at its end were cut off. Raises `SessionBusy`."""
        log = cls(path, say)
        data = path.read_bytes()
        rows, good = read_rows(data)
        if good < len(data):
            os.ftruncate(log._file, good)
        log._size = log._synced = good
        return log, rows, len(data) - good

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def saving(self) -> bool:
        """Whether everything so far is on disk."""
        return not self._waiting

    def append(self, event: Event) -> None:
        """Keep an event; on disk when this returns, if its kind is one of `SYNCED` and the disk takes it."""
        if self.drop_unused and event.body.type == RunStarted.type:
            self.drop_unused = False
        self.write(to_dict(event), sync=event.body.type in SYNCED)

    def write(self, row: dict[str, Any], *, sync: bool) -> None:
        """Append one row."""
        self._waiting.append(encoded_row(row))
        try:
            while self._waiting:
                self._write_whole(self._waiting[0])
                self._unsynced.append(self._waiting.popleft())
            if sync or self._failed:
                self._sync()
        except OSError as error:
            self._note_failure(error)
            return
        if self._failed:
            self._failed = False
            self._say("the session is being saved again")

    def close(self) -> None:
        """Release the lock. With `drop_unused` a session in which nothing was ever asked leaves no file."""
        if self.drop_unused:
            with contextlib.suppress(OSError):
                self.remove()
            return
        with contextlib.suppress(OSError):
            os.fdatasync(self._file)
        os.close(self._file)

    def remove(self) -> None:
        """Delete the file, while its lock is held, and close it."""
        try:
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        finally:
            os.close(self._file)

    def _lock(self) -> None:
        for tries_left in reversed(range(LOCK_TRIES)):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if not tries_left:
                    raise SessionBusy(f"session {self.path.stem} is open in another pool") from None
            time.sleep(LOCK_PAUSE_SECONDS)
        if not os.fstat(self._file).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "the session was just deleted", str(self.path))

    def _write_whole(self, data: bytes) -> None:
        """All of data or nothing: a partial write (full disk) is taken back, or at least ended by a line end."""
        data = b"\n" + data if self._torn else data
        done = 0
        try:
            while done < len(data):
                done += os.write(self._file, data[done:])
        except OSError:
            self._torn = done > 0 and not self._cut_back(self._size)
            raise
        self._torn = False
        self._size += len(data)

    def _sync(self) -> None:
        """Force the file to disk. What the disk then refuses is lost there (Linux tells once), so it waits again."""
        try:
            os.fdatasync(self._file)
        except OSError:
            if self._cut_back(self._synced):
                self._size = self._synced
                self._waiting.extendleft(reversed(self._unsynced))
                self._unsynced.clear()
            raise
        self._synced = self._size
        self._unsynced.clear()

    def _cut_back(self, size: int) -> bool:
        try:
            os.ftruncate(self._file, size)
        except OSError:
            return False
        return True

    def _note_failure(self, error: OSError) -> None:
        if not self._failed:
            self._failed = True
            self._say(f"nothing is being saved: {error.strerror} ({self.path}); the run goes on")


def encoded_row(row: dict[str, Any]) -> bytes:
    """A row as a line of a log."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def in_use(path: Path) -> bool:
    """Whether a process has the session open. Only looks; a file that cannot be opened is not in use."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def sync_folder(folder: Path) -> None:
    """Force a folder's entries to disk, so that a new file's name survives a loss of power."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_rows(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """The rows of a log, and how many bytes of it are sound; a torn or damaged line in the middle is skipped."""
    rows: list[dict[str, Any]] = []
    good = at = 0
    load = _fast_loader() if len(data) >= FAST_BYTES else _load
    for line in data.split(b"\n")[:-1]:
        at += len(line) + 1
        try:
            value = load(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            rows.append(cast(dict[str, Any], value))
            good = at
    return rows, good


def _load(line: bytes) -> Any:
    return json.loads(line)


def _fast_loader() -> Callable[[bytes], Any]:
    """A parser for long logs, whose import costs more than it saves for a short one."""
    import orjson

    def load(line: bytes) -> Any:
        try:
            return orjson.loads(line)
        except ValueError:
            # Numbers such as NaN and single halves of surrogate pairs are read by the standard library only.
            return json.loads(line)

    return load
