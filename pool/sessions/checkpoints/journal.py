"""What happened to files in a session, in order: an append-only file of JSON lines beside the kept contents.

Rows: `opened` stands before a call that may write, `changes` closes it; `outside` are changes that no call made;
`undoing` and `undone` bracket an undo. A row that a crash tore is cut off when the file is opened again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from pool.sessions.checkpoints.states import Changed, changed_from
from pool_tools.frozen import frozen

_MODE = 0o600
VERSION = 1


class By(StrEnum):
    """Who changed files."""

    CALL = "call"
    OUTSIDE = "outside"
    UNDO = "undo"
    REDO = "redo"


@frozen
class Record:
    """Changes of one moment. folders are new ones. of is the record that a redo takes back. at is Unix time in s.

    cut_off: the call was not finished, since Pool was killed; what was found afterwards is taken for its changes.
    """

    number: int
    by: By
    run: str
    turn: int
    call: str
    at: float
    changes: tuple[Changed, ...]
    folders: tuple[str, ...] = ()
    of: int = -1
    cut_off: bool = False


@dataclass(slots=True)
class Kept:
    """What a journal says. opened is a checkpoint without its end, undoing an undo without its end, if any."""

    records: list[Record] = field(default_factory=list[Record])
    opened: dict[str, Any] | None = None
    undoing: dict[str, Any] | None = None


class JournalBusy(Exception):
    """Another process works on this session's checkpoints."""


class Journal:
    """Appends to the file and holds its lock. Raises `JournalBusy` and `OSError`."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODE)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise JournalBusy(f"the checkpoints of session {path.parent.name} are in use by another pool") from None
        self.kept, good = read_journal(_whole(self._file))
        if good < os.fstat(self._file).st_size:
            os.ftruncate(self._file, good)
        self._size = good

    @property
    def records(self) -> list[Record]:
        return self.kept.records

    def add(self, kind: str, **fields: Any) -> None:
        """Append a row; on disk when this returns. A row that does not fit the disk is taken back."""
        row = {"type": kind, "v": VERSION, **fields}
        data = json.dumps(row, separators=(",", ":")).encode() + b"\n"
        done = 0
        try:
            while done < len(data):
                done += os.write(self._file, data[done:])
            os.fdatasync(self._file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)
        _play(self.kept, row)

    @property
    def next_number(self) -> int:
        """A number that no record has had."""
        open_rows = [row for row in (self.kept.opened, self.kept.undoing) if row]
        numbers = [r.number for r in self.records] + [int(row["n"]) for row in open_rows]
        return max(numbers, default=-1) + 1

    def close(self) -> None:
        os.close(self._file)


def read_journal(data: bytes) -> tuple[Kept, int]:
    """What a journal's bytes say, and how many of them are sound. Damaged and unknown rows are skipped."""
    kept = Kept()
    good = at = 0
    for line in data.split(b"\n")[:-1]:
        at += len(line) + 1
        try:
            value: Any = json.loads(line)
            if isinstance(value, dict):
                _play(kept, cast(dict[str, Any], value))
                good = at
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return kept, good


def _play(kept: Kept, row: dict[str, Any]) -> None:
    match row.get("type"):
        case "opened":
            kept.opened = row
        case "changes" | "outside":
            record = _record(row, By.OUTSIDE if row["type"] == "outside" else By.CALL)
            if record.by is By.CALL:
                kept.opened = None
            if record.changes:
                kept.records.append(record)
        case "undoing":
            kept.undoing = row
        case "undone" if kept.undoing is not None:
            begun, kept.undoing = kept.undoing, None
            whole = _record(begun, By(str(begun["by"])))
            done = {int(i) for i in row["done"]}
            changes = tuple(c for i, c in enumerate(whole.changes) if i in done)
            kept.records.append(replace(whole, changes=changes))
        case _:
            pass


def _record(row: dict[str, Any], by: By) -> Record:
    return Record(
        int(row["n"]),
        by,
        str(row.get("run", "")),
        int(row.get("turn", 0)),
        str(row.get("call", "")),
        float(row.get("at", 0.0)),
        tuple(changed_from(one) for one in row.get("items", ())),
        tuple(str(f) for f in row.get("folders", ())),
        int(row.get("of", -1)),
        bool(row.get("cut_off", False)),
    )


def _whole(file: int) -> bytes:
    size = os.fstat(file).st_size
    parts: list[bytes] = []
    at = 0
    while at < size and (part := os.pread(file, size - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)
