"""The index says what the logs say, whatever happens to its file; the logs alone are the truth."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.sessions import schema
from pool.sessions.index import SessionIndex
from pool.sessions.indexfile import FILE, LOCK_FILE
from tests.sessions import made
from tests.sessions.made import finished, said, session, started

CHANGE = {"type": "call.finished", "name": "edit", "status": "ok", "changes": [{"path": "src/ランタイム.py"}]}


def three(folder: Path) -> None:
    one = [started("  \n\x1b[31mFix the\tparser\nplease"), said("assistant", "Die GRÖSSE passt"), CHANGE, finished()]
    session(folder, "0190-aaaa", *one, age=20)
    session(folder, "0190-bbbb", started("日本語のテスト"), workspace="/other", age=10)
    session(folder, "0190-cccc", started("later"), finished("loop"), name="My\nname")


def test_sessions_are_listed_newest_first_with_title_and_counts(tmp_path: Path) -> None:
    three(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "foreign.jsonl").write_text('{"type":"other"}\n[1]\n')
    (tmp_path / "later.jsonl").write_text('{"type":"session","v":999,"id":"z"}\n')
    (tmp_path / "folder.jsonl").mkdir()
    with SessionIndex(tmp_path, pytest.fail) as index:
        entries = index.entries()
        assert [(e.id, e.title, e.ended) for e in entries] == [
            ("0190-cccc", "My name", "loop"),
            ("0190-bbbb", "日本語のテスト", ""),
            ("0190-aaaa", "[31mFix the parser", "completed"),
        ]
        assert entries[2].path.stat().st_size == entries[2].size
        assert [e.id for e in index.entries("/other")] == ["0190-bbbb"]
        assert [e.id for e in index.entries(limit=1)] == ["0190-cccc"]
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("full_text", [True, False])
@pytest.mark.parametrize(
    ("terms", "kind", "found"),
    [
        (["parser"], "prompt", "0190-aaaa"),
        (["PARS", "größe"], "prompt", "0190-aaaa"),
        (["grösse"], "answer", "0190-aaaa"),
        (["ランタイム"], "file", "0190-aaaa"),
        (["本語"], "prompt", "0190-bbbb"),
        (["テスト"], "prompt", "0190-bbbb"),
        (["name"], "name", "0190-cccc"),
        (['"'], "", ""),
        (["fix", "later"], "", ""),
        (["parser OR later"], "", ""),
        ([" "], "", ""),
    ],
)
def test_what_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terms: list[str], kind: str, found: str, full_text: bool
) -> None:
    if not full_text:
        monkeypatch.setattr(schema, "_SEARCH", "CREATE VIRTUAL TABLE search USING no_such_module")
    three(tmp_path)
    with SessionIndex(tmp_path, pytest.fail) as index:
        hits = index.search(terms)
        assert [(h.entry.id, h.kind) for h in hits] == ([(found, kind)] if found else [])


def test_only_what_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    three(tmp_path)
    SessionIndex(tmp_path, pytest.fail).close()
    read: list[str] = []
    real = Path.read_bytes

    def counted(path: Path) -> bytes:
        read.append(path.name)
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    (tmp_path / "0190-aaaa.jsonl").unlink()
    with (tmp_path / "0190-bbbb.jsonl").open("a") as file:
        file.write('{"type":"session.named","name":"b"}\n')
    replacement = tmp_path / "0190-cccc.jsonl"
    copy = real(replacement)
    replacement.unlink()
    (tmp_path / "keeps its inode from being used again").touch()
    replacement.write_bytes(copy)
    os.utime(replacement, (1_700_000_000, 1_700_000_000))
    session(tmp_path, "0190-dddd", started("new"))
    with SessionIndex(tmp_path, pytest.fail) as index:
        assert sorted(e.title for e in index.entries()) == ["My name", "b", "new"]
        assert index.search(["parser"]) == []
    assert {"0190-bbbb.jsonl", "0190-dddd.jsonl"} <= set(read) <= {f"0190-{x * 4}.jsonl" for x in "bcd"}


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000] + b"\xff" * 6000)


def no_database(path: Path) -> None:
    path.write_bytes(b"what is this?" * 100)


def older(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE sessions")
        db.execute("PRAGMA user_version = 0")
    db.close()


def other_tables(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE sessions RENAME COLUMN title TO heading")
    db.close()


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def lock_in_its_place(path: Path) -> None:
    (path.parent / LOCK_FILE).unlink()
    (path.parent / LOCK_FILE).mkdir()


@pytest.mark.parametrize(
    ("harm", "word"),
    [
        (damage, "damaged"),
        (no_database, "damaged"),
        (other_tables, "damaged"),
        (older, ""),
        (folder_in_its_place, "cannot be used"),
        (lock_in_its_place, "cannot be used"),
    ],
)
def test_a_file_of_no_use_is_made_anew_or_bypassed(tmp_path: Path, harm: Callable[[Path], None], word: str) -> None:
    three(tmp_path)
    SessionIndex(tmp_path, pytest.fail).close()
    harm(tmp_path / FILE)
    said_: list[str] = []
    with SessionIndex(tmp_path, said_.append) as index:
        assert len(index.entries()) == 3
        assert len(index.search(["parser"])) == 1
    assert len(said_) == bool(word)
    assert word in "".join(said_)
    with SessionIndex(tmp_path, said_.append if word.startswith("cannot") else pytest.fail) as index:
        assert len(index.entries()) == 3


def test_a_file_that_is_locked_or_removed_while_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pool.sessions.indexfile.LOCK_SECONDS", 0.05)
    three(tmp_path)
    said_: list[str] = []
    with SessionIndex(tmp_path, said_.append) as other:
        locking = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        locking.execute("BEGIN EXCLUSIVE")
        with SessionIndex(tmp_path, said_.append) as index:
            assert len(index.entries()) == 3
        locking.close()
        assert len(said_) == 1
        no_database(tmp_path / FILE)
        assert len(other.entries()) == 3
        assert len(said_) == 2
        assert not (tmp_path / f"{FILE}-journal").exists()


def test_no_folder_is_no_error(tmp_path: Path) -> None:
    with SessionIndex(tmp_path / "none", pytest.fail) as index:
        assert index.entries() == []
    assert not (tmp_path / "none").exists()


def index_it(folder: str) -> int:
    with SessionIndex(Path(folder), lambda text: None) as index:
        return len(index.entries())


def test_pools_that_index_side_by_side(tmp_path: Path) -> None:
    for number in range(40):
        session(tmp_path, f"s{number}", started(f"p {number}"))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(index_it, [str(tmp_path)] * 6) == [40] * 6
    with SessionIndex(tmp_path, pytest.fail) as index:
        assert len(index.search(["p 3"])) == 11


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = "prompt workspace model server wall mono reason usage text name status changes data repairs guard action".split()
KINDS = "session run.started run.finished usage call.started call.finished message.added session.named".split()
ROW = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6)


@given(st.lists(st.tuples(st.sampled_from(KINDS), ROW), max_size=8))
def test_any_values_can_be_indexed(rows: list[tuple[str, made.Row]]) -> None:
    from pool.sessions.figures import figures_of
    from pool.sessions.summary import summarized

    typed = [{**row, "type": kind} for kind, row in rows]
    one = summarized(typed, Path("x.jsonl"))
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.prepare(db)
    counts = (one.prompts, one.turns, one.tokens, one.model, one.ended, one.parent)
    values = ("x.jsonl", 1, 1, 1, one.id, one.workspace, one.title, one.name, one.created, *counts)
    db.execute(schema.ADD_SESSION, values)
    for key, figures in figures_of(typed).items():
        db.execute(schema.ADD_FIGURES, ("x.jsonl", *key, str(figures)))
    db.close()
