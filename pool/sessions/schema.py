"""The tables of the index of sessions. They are read and written only here and in `pool.sessions.index`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator

VERSION = 2
"""Raise it with any change of the tables, or of what is read out of a log: older index files are then made anew."""

LEAST_CHARS = 3
"""The full text search finds nothing shorter (it keeps sequences of three characters, so that words need no blanks)."""

_TABLES = """
CREATE TABLE sessions (
    name TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, inode INTEGER,
    id TEXT, workspace TEXT, title TEXT, given TEXT, created REAL,
    prompts INTEGER, turns INTEGER, tokens INTEGER, model TEXT, ended TEXT,
    parent TEXT
);
CREATE INDEX by_time ON sessions (mtime DESC);
CREATE TABLE passages (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, run INTEGER, text TEXT, folded TEXT);
CREATE INDEX passages_of ON passages (name);
CREATE TABLE figures (name TEXT, day TEXT, model TEXT, server TEXT, data TEXT);
CREATE INDEX figures_of ON figures (name);
"""

_SEARCH = "CREATE VIRTUAL TABLE search USING fts5(folded, content='passages', content_rowid='id', tokenize='trigram')"

_COLUMNS = (
    "s.name, s.mtime, s.size, s.id, s.workspace, s.title, s.given, s.created, "
    "s.prompts, s.turns, s.tokens, s.model, s.ended"
)
_WANTED = "s.id <> '' AND (:workspace = '' OR s.workspace = :workspace)"
ENTRY_COLUMNS = 13
ENTRIES = (
    f"SELECT {_COLUMNS} FROM sessions s WHERE {_WANTED} AND (:tasks OR s.parent = '') "
    "ORDER BY s.mtime DESC, s.name DESC LIMIT :limit"
)
FIGURES = (
    f"SELECT {_COLUMNS}, f.day, f.model, f.server, f.data FROM sessions s JOIN figures f ON f.name = s.name "
    f"WHERE {_WANTED} AND (:session = '' OR s.id = :session) ORDER BY s.mtime DESC, s.name DESC, f.day"
)
ADD_SESSION = f"INSERT INTO sessions VALUES ({', '.join('?' * 15)})"
ADD_PASSAGE = "INSERT INTO passages (name, kind, run, text, folded) VALUES (?, ?, ?, ?, ?)"
ADD_FIGURES = "INSERT INTO figures VALUES (?, ?, ?, ?, ?)"


class OtherVersion(sqlite3.DatabaseError):
    """The file is of another version of Pool."""


def prepare(db: sqlite3.Connection) -> None:
    """Make the tables in an empty file. Raises `OtherVersion`, and sqlite3.Error for a file that is damaged."""
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found == VERSION:
        return
    with writing(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise OtherVersion(f"version {found}")
        for statement in _TABLES.split(";"):
            db.execute(statement)
        # SQLite may be built without it; then texts are searched one by one.
        with contextlib.suppress(sqlite3.OperationalError):
            db.execute(_SEARCH)
        db.execute(f"PRAGMA user_version = {VERSION}")


@contextlib.contextmanager
def writing(db: sqlite3.Connection) -> Generator[None]:
    """A transaction that writes; whole or not at all."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def forget(db: sqlite3.Connection, name: str) -> None:
    """Take everything of a log out."""
    if _searchable(db):
        db.execute(
            "INSERT INTO search (search, rowid, folded) SELECT 'delete', id, folded FROM passages WHERE name = ?",
            (name,),
        )
    for table in ("passages", "figures", "sessions"):
        db.execute(f"DELETE FROM {table} WHERE name = ?", (name,))


def add_to_search(db: sqlite3.Connection, name: str) -> None:
    """Make the passages of a log findable."""
    if _searchable(db):
        db.execute("INSERT INTO search (rowid, folded) SELECT id, folded FROM passages WHERE name = ?", (name,))


def containing(db: sqlite3.Connection, term: str) -> set[str]:
    """Names of the logs of which a passage contains term, which is folded."""
    if len(term) >= LEAST_CHARS and _searchable(db):
        quoted = '"' + term.replace('"', '""') + '"'
        query = "SELECT DISTINCT p.name FROM search JOIN passages p ON p.id = search.rowid WHERE search MATCH ?"
    else:
        quoted, query = term, "SELECT DISTINCT name FROM passages WHERE instr(folded, ?)"
    return {str(row[0]) for row in db.execute(query, (quoted,))}


def _searchable(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'").fetchone() is not None
