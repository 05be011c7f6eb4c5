"""The results file of a batch: a line when a task begins and one when it has ended, each on disk before anything else.

It is what `--resume` goes by: a task that began and did not end was cut off, and is worked anew, in a folder of its
own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pool.headless.batch.tasks import BatchError, Task, row_of
from pool.jsonable import plain
from pool.sessions.log import read_rows
from pool_tools.frozen import frozen

BEGUN, ENDED = "task.started", "task.finished"
LEDGER_VERSION = 1
_MODE = 0o600


@frozen
class Attempt:
    """A task at work: the number of the attempt from 1, where it works, and the server."""

    task: Task
    number: int
    workspace: str
    branch: str
    server: str


@frozen
class Ended:
    """How an attempt ended. result is what `pool run -o json` prints, {} where the process died before it could.

    worked_by says who worked it, as an engine calls it.
    """

    exit_code: int
    reason: str
    detail: str
    seconds: float
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    worked_by: str = ""


class Ledger:
    """Appends to a results file, which one batch at a time may hold."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        """Raises `BatchError` for a file that cannot be used, or that holds results which resume does not allow for."""
        self.path = path
        self.begun: dict[str, int] = {}
        self.ended: dict[str, dict[str, Any]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, _MODE)
        except OSError as error:
            raise BatchError(f"the results cannot be written: {error.strerror} ({path})") from None
        try:
            self._take(resume=resume)
        except BaseException:
            os.close(self._file)
            raise

    def _take(self, *, resume: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BatchError(f"another batch writes its results to {self.path}") from None
        data = self.path.read_bytes()
        if data and not resume:
            raise BatchError(f"{self.path} is there already; --resume goes on with it, --out names another")
        rows, good = read_rows(data)
        os.ftruncate(self._file, good)
        for row in rows:
            name = str(row.get("id"))
            match row.get("type"):
                case "task.started":
                    self.begun[name] = max(self.begun.get(name, 0), int(row.get("attempt", 1)))
                    self.ended.pop(name, None)
                case "task.finished":
                    self.ended[name] = row
                case _:
                    pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def next_attempt(self, task: Task) -> int:
        """The number of a task's next attempt."""
        return self.begun.get(task.id, 0) + 1

    def begin(self, attempt: Attempt) -> None:
        """Note that an attempt begins."""
        self.begun[attempt.task.id] = attempt.number
        self.ended.pop(attempt.task.id, None)
        self._write({"type": BEGUN, "v": LEDGER_VERSION, **self._about(attempt)})

    def end(self, attempt: Attempt, ended: Ended) -> None:
        """Note how it ended."""
        row = {"type": ENDED, "v": LEDGER_VERSION, **self._about(attempt), **plain(ended)}
        self.ended[attempt.task.id] = row
        self._write(row)

    def _about(self, attempt: Attempt) -> dict[str, Any]:
        where = {"workspace": attempt.workspace, "branch": attempt.branch, "server": attempt.server}
        return {**row_of(attempt.task), "attempt": attempt.number, **where}

    def _write(self, row: dict[str, Any]) -> None:
        """One line, whole and on disk. Raises OSError, which ends the batch: results that are lost are worse."""
        line = json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        size = os.fstat(self._file).st_size
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(f"{self.path} is full")
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise
        os.fdatasync(self._file)
