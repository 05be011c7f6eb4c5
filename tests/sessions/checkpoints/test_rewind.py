"""Undo of the conversation, redo of it, and forks: the prefix stays byte for byte what the server has seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.events import HeadSet, RunStarted
from pool.sessions.forks import fork
from pool.sessions.log import Header, SessionBusy, SessionLog, read_rows
from pool.sessions.replay import resumed
from pool.sessions.rewind import ClosedSession
from pool.sessions.rewinds import NoSuchPrompt, prompts
from pool.sessions.store import Listed, by_id
from pool.wire.reading import Reading

SESSION = "0192aaaa-0000-7000-8000-00000000000a"


def said(text: str) -> None:
    raise AssertionError(text)


def talk(folder: Path, first: int, last: int, session: str = SESSION) -> list[bytes]:
    """Prompts first to last, with an answer each; the history's bytes."""
    path = folder / f"{session}.jsonl"
    if path.exists():
        log, rows, _ = SessionLog.reopen(path, said)
        earlier = resumed(rows)
    else:
        log = SessionLog.create(folder, Header(session, str(folder), 1.0, "0"), said)
        earlier = resumed([])
    with log:
        hub = EventHub(session, log, next_seq=earlier.next_seq)
        if not earlier.head:
            hub.emit(HeadSet('{"model":"m"}'))
        history = History("You are.", hub.emit, earlier=earlier.messages)
        for n in range(first, last + 1):
            hub.run = f"run-number-{n}-{earlier.next_seq}"
            hub.emit(RunStarted(f"prompt {n}", str(folder), "m", "s", "auto", "none"))
            history.add_user(f"prompt {n} 日本 \x1b")
            history.add_assistant(Reading(content=f"answer {n}"), [])
        return history.data


def found(folder: Path, session: str = SESSION) -> Listed:
    return by_id(folder, session)


def messages(folder: Path, session: str = SESSION) -> list[bytes]:
    return [m.data for m in resumed(read_rows((folder / f"{session}.jsonl").read_bytes())[0]).messages]


def undo(folder: Path, to: str = "") -> None:
    with ClosedSession(found(folder), said) as one:
        one.carry_out(one.undo(to, files=False, conversation=True))


def test_rewinds_and_redo_give_the_very_bytes(tmp_path: Path) -> None:
    talk(tmp_path, 1, 2)
    two = messages(tmp_path)
    four = talk(tmp_path, 3, 4)
    undo(tmp_path, "3")
    assert messages(tmp_path) == two
    with ClosedSession(found(tmp_path), said) as one:
        redo = one.redo(files=False, conversation=True)
        assert [p.text for p in redo.taken] == ["prompt 3", "prompt 4"]
        one.carry_out(redo)
    assert messages(tmp_path) == four
    undo(tmp_path)
    undo(tmp_path)
    assert messages(tmp_path) == two
    assert talk(tmp_path, 5, 5)[: len(two)] == two
    rows = read_rows(found(tmp_path).path.read_bytes())[0]
    assert [(p.number, p.text) for p in prompts(rows)] == [(1, "prompt 1"), (2, "prompt 2"), (3, "prompt 5")]
    with ClosedSession(found(tmp_path), said) as one:
        assert one.redo(files=False, conversation=True).empty
    undo(tmp_path, "1")
    assert messages(tmp_path) == two[:1]
    assert len({row["seq"] for row in rows if "seq" in row}) == len(rows) - 1


def test_what_is_not_there_or_in_use_is_said(tmp_path: Path) -> None:
    talk(tmp_path, 1, 2)
    with ClosedSession(found(tmp_path), said) as one:
        with pytest.raises(NoSuchPrompt, match="1 to 2"):
            one.undo("3", files=True, conversation=True)
        with pytest.raises(SessionBusy):
            ClosedSession(found(tmp_path), said)


@pytest.mark.parametrize(("at", "count"), [("", 7), ("3", 5), ("1", 1)])
def test_a_fork_begins_with_the_same_bytes(tmp_path: Path, at: str, count: int) -> None:
    whole = talk(tmp_path, 1, 3)
    other = "0192bbbb-0000-7000-8000-00000000000b"
    path = fork(found(tmp_path), other, "0", at=at)
    rows, damage = read_rows(path.read_bytes())
    assert damage == path.stat().st_size
    assert rows[0]["forked_from"] == SESSION
    again = resumed(rows)
    assert [m.data for m in again.messages] == whole[:count]
    assert again.head == '{"model":"m"}'
    assert talk(tmp_path, 9, 9, other)[:count] == whole[:count]
    assert messages(tmp_path) == whole


def test_prompts_that_a_fork_has_from_its_source_can_be_named(tmp_path: Path) -> None:
    whole = talk(tmp_path, 1, 3)
    before = prompts(read_rows(found(tmp_path).path.read_bytes())[0])
    other = "0192bbbb-0000-7000-8000-00000000000b"
    fork(found(tmp_path), other, "0")
    talk(tmp_path, 9, 9, other)
    rows = read_rows(found(tmp_path, other).path.read_bytes())[0]
    assert [(p.number, p.text, p.run, p.at) for p in prompts(rows)[:3]] == [
        (p.number, p.text, p.run, p.at) for p in before
    ]
    again = fork(found(tmp_path, other), other.replace("b", "c"), "0", at="2")
    assert [m.data for m in resumed(read_rows(again.read_bytes())[0]).messages] == whole[:3]
    with ClosedSession(found(tmp_path, other), said) as one:
        rewind = one.undo("2", files=True, conversation=True)
        assert [p.number for p in rewind.taken] == [2, 3, 4]
        one.carry_out(rewind)
    assert messages(tmp_path, other) == whole[:3]
