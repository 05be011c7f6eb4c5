"""Renaming and deleting sessions, and choosing which ones to delete by age, number and size."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pool.events import Envelope, Event, SessionNamed
from pool.sessions.index import SessionEntry
from pool.sessions.log import SessionLog
from pool.sessions.replay import resumed
from pool_tools.frozen import frozen

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,}")
"""Ids by which files are looked for; a log that was edited may have any text there."""

_PLACES = ("*", "*/*")
"""How deep below the state folder something may be kept for a session."""


@frozen
class Limits:
    """What is kept: sessions changed at most seconds ago, at most count of them, of at most size bytes; None: any."""

    seconds: float | None = None
    count: int | None = None
    size: int | None = None


def rename(path: Path, session: str, name: str, say: Callable[[str], object]) -> None:
    """Give a session a name, "" to take it back, as an event of its log. Its place in the order of time stays.

    Raises `SessionBusy` if another process has it open, and `OSError`.
    """
    before = path.stat()
    log, rows, _ = SessionLog.reopen(path, say)
    with log:
        seq = resumed(rows).next_seq
        log.append(Event(Envelope(session, "", 0, seq, time.time(), time.monotonic()), SessionNamed(name)))
    with contextlib.suppress(OSError):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def delete(path: Path, session: str) -> None:
    """Delete a session, and what is kept for it in the state folder: files and folders named after its id.

    Raises `SessionBusy` if a process has it open, and `OSError`.
    """
    SessionLog(path, _silent).remove()
    if not _ID.fullmatch(session):
        return
    for place in _PLACES:
        for found in sorted(path.parent.parent.glob(f"{place}/{session}*")):
            if found.name != session and not found.name.startswith(f"{session}."):
                continue
            with contextlib.suppress(OSError):
                if found.is_dir() and not found.is_symlink():
                    shutil.rmtree(found)
                else:
                    found.unlink()


def beyond(entries: Sequence[SessionEntry], limits: Limits, now: float) -> list[SessionEntry]:
    """The entries that limits leave out. entries come with the one changed last first; older ones go first."""
    out: list[SessionEntry] = []
    size = count = 0
    full = False
    for entry in entries:
        old = limits.seconds is not None and now - entry.changed > limits.seconds
        many = limits.count is not None and count >= limits.count
        full = full or (limits.size is not None and size + entry.size > limits.size)
        if old or many or full:
            out.append(entry)
            continue
        count += 1
        size += entry.size
    return out


def _silent(text: str) -> None:
    """Nothing is written to a log that is deleted."""
