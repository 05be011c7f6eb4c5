"""A log cut anywhere, or with lines missing, opens; the history that comes of it is one that a strict server takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.events import Compacted, HeadSet, Notice, RunFinished, RunStarted, StopReason, Usage
from pool.messages import ToolCall, user
from pool.sessions.log import Header, SessionLog, read_rows
from pool.sessions.replay import Resumed, resumed
from pool.wire.reading import Reading
from tests.agent.test_history import problems

SYSTEM = "be good"
RUNS = 3


def written(folder: Path) -> Path:
    """A session of some prompts with calls, a call that was cut short, a compaction and what came after it."""
    with SessionLog.create(folder, Header("s", "/w", 1.0, "0"), print) as log:
        hub = EventHub("s", log)
        history = History(SYSTEM, hub.emit)
        for number in range(RUNS):
            start(hub, history, f"Aufgabe {number} \U0001f680", number)
            two = [ToolCall(f"{number}a", "read", '{"path":"a\\n"}'), ToolCall(f"{number}b", "shell", "{}")]
            history.add_assistant(Reading(content="", reasoning="hm"), two)
            history.add_result(f"{number}a", "text\nof a file")
            if number != 1:
                history.add_result(f"{number}b", "日本")
                history.add_assistant(Reading(content=f"done {number}"), [])
            hub.emit(RunFinished(StopReason.COMPLETED, 0, "", "done", 2, 1.0, Usage()))
            if number == 1:
                history.add_user("and then")
                kept = [history.encode(user("an account")), history.encode(user("x")), *history.messages[2:5]]
                kept.pop(1)
                hub.emit(Compacted(100, 10, "smaller", len(kept)))
                history.replace([], kept)
                history.add_user("go on")
                history.add_assistant(Reading(content="well"), [])
    return log.path


def start(hub: EventHub, history: History, prompt: str, number: int) -> None:
    hub.run = str(number)
    hub.emit(RunStarted(prompt, "/w", "m", "s", "auto", "none"))
    hub.emit(HeadSet('{"model":"m"}'))
    hub.emit(Notice("info", "well \u2028"))
    history.add_user(prompt)


def next_request(earlier: Resumed) -> list[dict[str, Any]]:
    history = History(SYSTEM, lambda body: None, earlier=earlier.messages)
    history.add_user("next")
    return [json.loads(data) for data in history.data]


def test_cut_at_every_byte_it_opens_and_its_next_request_is_valid(tmp_path: Path) -> None:
    data = written(tmp_path).read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    whole = [json.loads(line) for line in data.splitlines()]
    near = {0, 1, 2, *(end + step for end in ends for step in (-1, 0, 1, 30))}
    path = tmp_path / "cut.jsonl"
    for size in range(len(data) + 1):
        records = sum(end <= size for end in ends)
        if size in near:
            path.write_bytes(data[:size])
            log, rows, damage = SessionLog.reopen(path, print)
            log.close()
            assert path.stat().st_size == size - damage
        else:
            rows, _ = read_rows(data[:size])
        assert rows == whole[:records]
        if size in ends:
            found = resumed(rows)
            assert found.left_out == 0
            assert problems(next_request(found)) == []


def test_what_was_sent_before_is_sent_again_byte_for_byte(tmp_path: Path) -> None:
    """After each message the history is what a request then had, whatever of the log is gone."""
    sent: list[list[bytes]] = []
    with SessionLog.create(tmp_path, Header("s", "/w", 1.0, "0"), print) as log:
        hub = EventHub("s", log)
        history = History(SYSTEM, hub.emit)
        for number in range(4):
            history.add_user(f"p {number}")
            sent.append(list(history.data))
            history.add_assistant(Reading(content="", reasoning="weil"), [ToolCall(f"c{number}", "read", "{}")])
            history.add_result(f"c{number}", "x" * 50)
            sent.append(list(history.data))
    rows, _ = read_rows(log.path.read_bytes())
    for count in range(2, len(rows) + 1):
        messages = [m.data for m in resumed(rows[:count]).messages]
        last = max((s for s in sent if len(s) <= len(messages)), key=len, default=list[bytes]())
        assert messages[: len(last)] == last


def test_a_compaction_counts_only_when_all_of_it_is_there(tmp_path: Path) -> None:
    rows, _ = read_rows(written(tmp_path).read_bytes())
    at = next(i for i, row in enumerate(rows) if row["type"] == "history.compacted")
    follow = rows[at]["follow"]
    before = [m.data for m in resumed(rows[:at]).messages]
    for count in range(follow):
        cut = rows[: at + 1 + count]
        assert [m.data for m in resumed(cut).messages] == before
        text = '{"role":"user","content":"next"}'
        later: dict[str, Any] = {"type": "message.added", "role": "user", "text": text, "replaces_last": True}
        gone_on = [*cut, {"type": "run.started"}, later]
        assert [m.data for m in resumed(gone_on).messages] == [*before[:-1], text.encode()]
    after = resumed(rows[: at + 1 + follow]).messages
    assert len(after) == 1 + follow
    assert after[1].message.content == "an account"


def test_an_older_log_does_not_count_what_follows_a_compaction(tmp_path: Path) -> None:
    rows, _ = read_rows(written(tmp_path).read_bytes())
    at = next(i for i, row in enumerate(rows) if row["type"] == "history.compacted")
    del rows[at]["follow"]
    assert len(resumed(rows[: at + 1]).messages) == 1
    assert problems(next_request(resumed(rows))) == []


@given(st.sets(st.integers(0, 60)))
def test_with_lines_missing_the_history_is_valid(tmp_path_factory: pytest.TempPathFactory, gone: set[int]) -> None:
    if not LINES:
        LINES.extend(written(tmp_path_factory.mktemp("s")).read_bytes().split(b"\n")[:-1])
    damaged = [b"{torn" if i in gone else line for i, line in enumerate(LINES)]
    rows, _ = read_rows(b"\n".join([*damaged, b""]))
    assert problems(next_request(resumed(rows))) == []


LINES: list[bytes] = []


def test_rows_of_a_subagent_are_no_part_of_the_history() -> None:
    mine = {"type": "message.added", "role": "user", "text": '{"role":"user","content":"mine"}', "seq": 4}
    other = {**mine, "text": '{"role":"user","content":"other"}', "agent": "1", "seq": 9}
    found = resumed([mine, other])
    assert [m.message.content for m in found.messages] == ["mine"]
    assert found.next_seq == 10
