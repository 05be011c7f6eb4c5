"""The model's list of steps: read from what models write, kept through compaction, resuming, forks and undo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.commands import execute
from pool.agent.control import Conversation
from pool.agent.firstrequest import first_request
from pool.agent.todo import MOST_ITEMS, TodoList, TodoTool, lines_of, progress, read_items
from pool.config.settings import Settings
from pool.events import CallFinished, Compacted, TodoChanged, TodoItem
from pool.facekit.decode import events_of
from pool.sessions.log import read_rows
from pool.sessions.store import by_id, sessions_folder
from pool.wire.tokens import count_offline
from pool_tools import ToolError
from tests.cases.driver import ModelServer, answer, call, driving, play

STEPS = ["[x] read the parser", "[>] mend <b>it</b>", "[ ] run the tests"]
ITEMS = (TodoItem("read the parser", "done"), TodoItem("mend <b>it</b>", "now"), TodoItem("run the tests"))


def test_a_step_is_read_however_its_mark_is_written() -> None:
    lines = ["[x] a", "[X] b", "- [ ] c", "[>]d", "[] e", "f", "[~] g", "[12] h", "  ", "[ ]"]
    assert [(i.text, i.state) for i in read_items(lines)] == [
        *(("a", "done"), ("b", "done"), ("c", "open"), ("d", "now")),
        *(("e", "open"), ("f", "open"), ("g", "now"), ("[12] h", "open")),
    ]


@given(st.lists(st.text(max_size=40), max_size=8))
def test_what_was_read_reads_the_same_again(lines: list[str]) -> None:
    items = read_items(lines)
    assert read_items(lines_of(items)) == items
    json.dumps([item.text for item in items]).encode()


def test_progress_names_the_step_that_is_worked_on() -> None:
    assert progress(ITEMS) == "1 of 3 done; now: mend <b>it</b>"
    assert progress([TodoItem("a", "done")]) == "1 of 1 done"
    assert progress([]) == "the list is empty"


async def test_a_list_without_end_is_refused_and_an_equal_one_is_no_change() -> None:
    told: list[object] = []
    tool = TodoTool(TodoList(told.append))
    with pytest.raises(ToolError, match=f"at most {MOST_ITEMS}"):
        await tool.run({"items": ["a"] * (MOST_ITEMS + 1)}, lambda text: None)
    for _ in range(2):
        await tool.run({"items": STEPS}, lambda text: None)
    assert told == [TodoChanged(ITEMS)]


def test_the_tool_costs_little(tmp_path: Path) -> None:
    body = json.loads(first_request(Settings(tmp_path, base_url="http://127.0.0.1:8000/v1"), "model", "hello"))
    (declared,) = (tool for tool in body["tools"] if tool["function"]["name"] == "todo")
    assert count_offline(json.dumps(declared)) < 110


async def test_the_list_outlives_compaction_resuming_fork_and_undo(tmp_path: Path) -> None:
    changed = ["[x] read the parser", "[x] mend <b>it</b>", "[>] run the tests"]
    async with ModelServer(call("todo", "t1", items=STEPS), answer("One."), answer("An account.")) as server:
        async with driving(server.url, tmp_path / "w") as driver:
            talk = Conversation(driver.session)
            run = await driver.run("Work on the parser.")
            assert run.of(TodoChanged) == [TodoChanged(ITEMS)]
            assert run.of(CallFinished)[0].text == "1 of 3 done; now: mend <b>it</b>."
            await talk.compact()
            assert [e for e in driver.events if isinstance(e.body, Compacted)]
            server.bodies.clear()
            server.steps = [call("todo", "t2", items=changed), answer("Two.")]
            told = driver.session.agent.history.messages[1].message.content
            assert told.endswith("An account.\n\nYour todo list, as it stands:\n" + "\n".join(STEPS))
            await driver.run("Go on.")
            assert (await execute("/todo", talk)).lines == ("2 of 3 done; now: run the tests", *changed)
            undo = driver.session.undo
            assert undo is not None
            await undo.carry_out(await undo.plan("2"))
            assert driver.session.work.todo.items == ITEMS
            session = driver.session.hub.session
        assert server.complaints == []
        rows, _ = read_rows(by_id(sessions_folder(), session).path.read_bytes())
        assert next(e.body for e in events_of(rows) if isinstance(e.body, TodoChanged)) == TodoChanged(ITEMS)
        async with driving(server.url, tmp_path / "w", resume=session) as driver:
            assert driver.session.work.todo.items == ITEMS
        async with driving(server.url, tmp_path / "w", fork=session) as driver:
            assert driver.session.work.todo.items == ITEMS


async def test_a_run_without_a_list_has_nothing_of_it(tmp_path: Path) -> None:
    run, bodies = await play(tmp_path / "w", answer("Done."))
    assert not run.of(TodoChanged)
    assert "todo" not in json.dumps(bodies[0]["messages"])
