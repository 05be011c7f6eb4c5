"""An index over the logs of all sessions, for listing, searching and statistics. It is never the truth.

One SQLite file beside the logs. It is brought up to date whenever it is opened: a log whose size, time or inode differs
is read anew. A file that is damaged, or of another version of Pool, is made anew; one that cannot be used (locked for
long, not writable, no room) is bypassed by an index in memory, for this time. The journal is SQLite's plain one, since
state folders may lie on network file systems, where its write-ahead log does not work.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pool.sessions import schema
from pool.sessions.figures import Figures, Key, figures_of
from pool.sessions.indexfile import IndexFile
from pool.sessions.log import read_rows
from pool.sessions.store import SUFFIX
from pool.sessions.summary import summarized
from pool_tools.frozen import frozen

BATCH = 100
"""Logs read per transaction, so that pools which index side by side take turns."""

MANY = 200
"""From so many logs to read on it is said that this takes a while."""

_NS_PER_SECOND = 1_000_000_000
_INTEGER = 2**63 - 1
"""What SQLite takes as an integer; inodes may be larger."""

T = TypeVar("T")
_Stamp = tuple[int, int, int]
_Wanted = dict[str, str | int]


@frozen
class SessionEntry:
    """A session as the index knows it.

    title is the name that the user gave, else the first line of the first prompt. ended is the last run's stop reason,
    "" if it has none: the session works now, or was killed. created and changed are Unix times in seconds, size is in
    bytes, tokens counts those read and written.
    """

    id: str
    path: Path
    workspace: str
    title: str
    name: str
    created: float
    changed: float
    size: int
    prompts: int
    turns: int
    tokens: int
    model: str
    ended: str


@frozen
class Hit:
    """A session that was found, and the passage that fits best: its kind (prompt, answer, name or file) and text."""

    entry: SessionEntry
    kind: str
    text: str


class SessionIndex:
    """The index of one folder of logs, up to date as of its opening. Close it, or use it in a `with`."""

    def __init__(self, folder: Path, say: Callable[[str], object]) -> None:
        """say takes a line for people. Nothing is raised for an index that cannot be used."""
        self._folder = folder
        self._say = say
        self._file = IndexFile(folder, say)
        self.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    def refresh(self) -> None:
        """Read the logs that changed since they were indexed, and forget those that are gone."""
        self._file.run(self._refresh)

    def entries(self, workspace: str = "", limit: int = 0, *, tasks: bool = False) -> list[SessionEntry]:
        """Sessions, the one changed last first; of one workspace or of all. limit 0: no limit.

        tasks: those of subagents too.
        """
        wanted = _wanted(workspace, limit, tasks=tasks)
        return self._ask(lambda db: [self._entry(row) for row in db.execute(schema.ENTRIES, wanted)])

    def search(self, terms: Sequence[str], workspace: str = "", limit: int = 0) -> list[Hit]:
        """Sessions in which every term stands, whatever its case, also as a part of a word; each with its best passage.

        The one changed last comes first.
        """
        folded = [term.casefold() for term in terms if term.strip()]
        return self._ask(lambda db: self._search(db, folded, workspace, limit)) if folded else []

    def figures(self, workspace: str = "", session: str = "") -> list[tuple[SessionEntry, Key, Figures]]:
        """The statistics of each session (or of one, by its id) by day, model and server; the newest session first."""
        wanted: _Wanted = {**_wanted(workspace, 0), "session": session}
        split = schema.ENTRY_COLUMNS

        def ask(db: sqlite3.Connection) -> list[tuple[SessionEntry, Key, Figures]]:
            return [
                (self._entry(row[:split]), Key(*row[split:-1]), Figures.from_dict(json.loads(row[-1])))
                for row in db.execute(schema.FIGURES, wanted)
            ]

        return self._ask(ask)

    def _ask(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Ask; an index that had to be replaced meanwhile is brought up to date first."""

        def refreshed(db: sqlite3.Connection) -> T:
            if self._file.is_new:
                self._refresh(db)
            return work(db)

        return self._file.run(refreshed)

    # -- keeping up to date

    def _refresh(self, db: sqlite3.Connection) -> None:
        found = _stamps(self._folder)
        known: dict[str, _Stamp] = {
            name: (size, mtime, inode)
            for name, size, mtime, inode in db.execute("SELECT name, size, mtime, inode FROM sessions")
        }
        stale = sorted(name for name, stamp in found.items() if known.get(name) != stamp)
        if len(stale) >= MANY:
            self._say(f"reading {len(stale):,} sessions into their index")
        for at in range(0, len(stale), BATCH):
            with schema.writing(db):
                for name in stale[at : at + BATCH]:
                    self._take(db, name, found[name])
        gone = [name for name in known if name not in found]
        if gone:
            with schema.writing(db):
                for name in gone:
                    schema.forget(db, name)
        self._file.is_new = False

    def _take(self, db: sqlite3.Connection, name: str, stamp: _Stamp) -> None:
        """Read one log, unless another pool just did."""
        if db.execute("SELECT size, mtime, inode FROM sessions WHERE name = ?", (name,)).fetchone() == stamp:
            return
        path = self._folder / name
        try:
            rows, _ = read_rows(path.read_bytes())
        except OSError:
            return
        one = summarized(rows, path)
        schema.forget(db, name)
        texts = (one.id, one.workspace, one.title, one.name, one.created)
        counts = (one.prompts, one.turns, one.tokens, one.model, one.ended, one.parent)
        db.execute(schema.ADD_SESSION, (name, *stamp, *texts, *counts))
        if not one.id:
            return
        db.executemany(schema.ADD_PASSAGE, [(name, p.kind, p.run, p.text, p.text.casefold()) for p in one.passages])
        schema.add_to_search(db, name)
        figures = figures_of(rows).items()
        db.executemany(schema.ADD_FIGURES, [(name, *key, json.dumps(asdict(value))) for key, value in figures])

    # -- searching

    def _search(self, db: sqlite3.Connection, terms: Sequence[str], workspace: str, limit: int) -> list[Hit]:
        names = set[str].intersection(*(schema.containing(db, term) for term in terms))
        entries = map(self._entry, db.execute(schema.ENTRIES, _wanted(workspace, 0)).fetchall())
        found = [entry for entry in entries if entry.path.name in names]
        return [self._hit(db, entry, terms) for entry in (found[:limit] if limit else found)]

    def _hit(self, db: sqlite3.Connection, entry: SessionEntry, terms: Sequence[str]) -> Hit:
        query = "SELECT kind, text, folded FROM passages WHERE name = ? ORDER BY id"
        rows = db.execute(query, (entry.path.name,)).fetchall()
        kind, text, _ = max(rows, key=lambda row: sum(term in row[2] for term in terms))
        return Hit(entry, kind, text)

    def _entry(self, row: Sequence[Any]) -> SessionEntry:
        name, mtime, size, one, workspace, title, given, created, *counts = row
        changed = mtime / _NS_PER_SECOND
        return SessionEntry(one, self._folder / name, workspace, given or title, given, created, changed, size, *counts)


def _wanted(workspace: str, limit: int, *, tasks: bool = False) -> _Wanted:
    return {"workspace": workspace, "limit": limit or -1, "tasks": int(tasks)}


def _stamps(folder: Path) -> dict[str, _Stamp]:
    """Size in bytes, time of the last change in ns and inode of each log in the folder, by file name."""
    out: dict[str, _Stamp] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.endswith(SUFFIX) or not entry.name.isprintable():
                    continue
                try:
                    stat = entry.stat()
                    if entry.is_file():
                        out[entry.name] = (stat.st_size, stat.st_mtime_ns, stat.st_ino & _INTEGER)
                except OSError:
                    continue
    except OSError:
        return {}
    return out
