"""Logs that are made at once, of forks and imports: a session is there with all its records, or not at all.

A log that grew record by record would look, after a kill, like a session with half of its conversation.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pool.sessions.log import FOLDER_MODE, LOG_MODE, encoded_row, sync_folder

Row = dict[str, Any]

_BESIDE = ".new"
STALE_SECONDS = 86_400.0
"""A file beside that is older was left by a process that was killed."""


def write_logs(folder: Path, logs: Sequence[tuple[str, Iterable[Row]]]) -> list[Path]:
    """Make logs below folder, of ids and rows (the header first); their paths. Raises OSError; then none is left."""
    folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    _sweep(folder)
    made: list[tuple[Path, Path]] = []
    placed: list[Path] = []
    try:
        for session, rows in logs:
            beside = folder / f".{session}{_BESIDE}"
            made.append((beside, folder / f"{session}.jsonl"))
            _write(beside, rows)
        for beside, path in made:
            os.rename(beside, path)
            placed.append(path)
    except BaseException as error:
        for path in [*(b for b, _ in made), *placed]:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            # A full disk is noticed while writing, where Python names no file.
            error.filename = str(folder)
        raise
    sync_folder(folder)
    return placed


def _write(path: Path, rows: Iterable[Row]) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, LOG_MODE), "wb") as file:
        for row in rows:
            file.write(encoded_row(row))
        file.flush()
        os.fsync(file.fileno())


def _sweep(folder: Path) -> None:
    """Remove what killed processes left."""
    for path in folder.glob(f".*{_BESIDE}"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > STALE_SECONDS:
                path.unlink()
