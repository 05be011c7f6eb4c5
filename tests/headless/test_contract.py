"""The contract of `pool run`: every event and result of real runs, whatever happens in them, fits the schema."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pool.agent.digest import result_of, runs_of
from pool.agent.hub import EventHub
from pool.agent.result import RunResult
from pool.config.settings import Budgets, Mode
from pool.events import Compacted, ContentDelta, Event, RunFinished, Steered, StopReason, Usage, to_dict
from pool.headless.output import JsonOutput
from pool.headless.schema import placed, printed_kinds, schema
from pool.jsonable import plain
from pool.sessions.log import read_rows
from pool.sessions.store import by_id, sessions_folder
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.cases.driver import MODEL, STOP, ModelServer, Run, Step, answer, call, driving, refuse
from tests.headless.valid import Row, faults

DOCS = Path(__file__).parents[2] / "docs"
TEST_FILE = "def test_one():\n    assert 1\n"
PYTEST = "python -m pytest -q"


def checked(events: Sequence[Event]) -> RunResult:
    """The result of a run all of whose events, and whose result, fit the schema."""
    rows: list[Row] = [json.loads(json.dumps(plain(to_dict(event)))) for event in events]
    assert [fault for row in rows for fault in faults(row)] == []
    result = result_of(rows)
    assert faults(json.loads(json.dumps(result.to_dict()))) == []
    return result


async def played(folder: Path, *steps: Step, **changes: Any) -> tuple[Run, RunResult]:
    async with ModelServer(*steps) as server, driving(server.url, folder, **changes) as driver:
        run = await driver.run()
    return run, checked(driver.events)


def test_the_schema_and_the_tables_on_disk_are_those_of_the_code() -> None:
    text = (DOCS / "events.schema.json").read_text("utf-8")
    assert json.loads(text) == schema(), "pool schema --into docs/events.schema.json"
    Draft202012Validator.check_schema(json.loads(text))
    page = (DOCS / "headless.md").read_text("utf-8")
    assert placed(page, "headless.md") == page, "pool schema --tables --into docs/headless.md"


def test_the_page_names_every_field_of_a_result() -> None:
    page = (DOCS / "headless.md").read_text("utf-8")
    table = page[page.index("## The result") : page.index("## Events")]
    assert [field.name for field in fields(RunResult) if f"`{field.name}`" not in table] == []


def test_the_schema_refuses_what_is_no_event() -> None:
    good = {"session": "s", "run": "r", "turn": 1, "seq": 1, "wall": 1.0, "mono": 1.0, "v": 1}
    published: Any = Draft202012Validator(schema())
    assert published.is_valid({"type": "call.started", **good, "call": "c", "name": "read", "later": 1})
    assert not published.is_valid({"type": "call.started", **good, "name": 3})
    assert not published.is_valid({"type": "call.started", **good, "name": "read", "v": 2})
    assert faults({"type": "call.started", **good, "name": "read", "later": 1})


async def test_ok_with_calls_changes_and_tests(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST_FILE)
    steps = call("write", "w", path="a.txt", content="x\ny\n"), call("shell", "t", command=PYTEST), answer("Done.")
    run, result = await played(tmp_path, *steps)
    assert (run.reason, result.reason, result.exit_code) == (StopReason.COMPLETED, "completed", 0)
    assert [(c.id, c.name, c.status, c.exit_status, c.turn) for c in result.calls] == [
        ("w", "write", "ok", None, 1),
        ("t", "shell", "ok", 0, 2),
    ]
    assert result.calls[1].seconds > 0
    first = result.changes[0]
    assert (first.path, first.kind, first.added, first.removed) == ("a.txt", "created", 2, 0)
    assert [(t.call, t.passed, t.executed, t.whole) for t in result.tests.runs] == [("t", True, True, True)]
    assert not result.tests.edited_since
    assert [t.turn for t in result.per_turn] == [1, 2, 3]
    assert sum(t.usage.prompt for t in result.per_turn) == result.usage.prompt == 300
    assert (result.cached_share, result.model, result.server) == (0.0, MODEL, result.server)
    assert sum(plain(result.time).values()) == pytest.approx(result.seconds, abs=0.5)


async def test_failed_denied_and_blocked_calls(tmp_path: Path) -> None:
    steps = call("shell", "f", command="exit 3"), call("read", "n", path="nowhere"), call("shell", "d", command="rm x")
    run, result = await played(tmp_path, *steps, answer("Done."), deny=("shell(rm *)",))
    assert run.reason is StopReason.DENIED
    statuses = [(c.id, c.status, c.exit_status, c.denied_by) for c in result.calls]
    assert statuses == [("f", "failed", 3, ""), ("n", "failed", None, ""), ("d", "denied", None, "rule")]


async def test_a_claim_that_nothing_backs(tmp_path: Path) -> None:
    steps = call("write", path="a.py", content="x"), answer("All tests pass.")
    run, result = await played(tmp_path, *steps)
    assert run.reason is StopReason.UNVERIFIED
    assert result.exit_code == 9
    assert "no test was run" in result.tests.unbacked
    assert ("claims", "nudge") in [(g.guard, g.action) for g in result.guards]


async def test_guards_and_budgets(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    run, result = await played(tmp_path, call("read", path="a"), budgets=Budgets(turns=3))
    assert (run.reason, result.exit_code) == (StopReason.MAX_TURNS, 5)
    assert result.guards


async def test_a_server_that_refuses(tmp_path: Path) -> None:
    run, result = await played(tmp_path, refuse(400, "no such thing"))
    assert (run.reason, result.exit_code, result.answer) == (StopReason.SERVER_FAILED, 75, "")
    assert any(n.level == "error" for n in result.notices)


async def test_compaction(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word\n" * 1_000)
    steps = [call("read", f"c{n}", path="a", offset=n) for n in range(1, 4)]
    steps += [answer("Done."), answer("An account.")]
    async with ModelServer(*steps) as server, driving(server.url, tmp_path) as driver:
        await driver.run()
        assert await driver.session.agent.compact()
    result = checked(driver.events)
    assert any(isinstance(event.body, Compacted) for event in driver.events)
    assert len(result.compactions) == 1


async def test_steering_that_reaches_the_model(tmp_path: Path) -> None:
    steps = call("shell", command="sleep 0.2"), answer("Done.")
    async with ModelServer(*steps) as server, driving(server.url, tmp_path) as driver:
        working = asyncio.create_task(driver.run())
        await driver.until(lambda event: event.body.type == "call.started")
        driver.session.agent.steering.add("Be quick.")
        await working
    checked(driver.events)
    assert any(isinstance(event.body, Steered) for event in driver.events)


async def test_an_interrupt(tmp_path: Path) -> None:
    async with ModelServer(call("shell", command="sleep 30")) as server, driving(server.url, tmp_path) as driver:
        working = asyncio.create_task(driver.run())
        await driver.until(lambda event: event.body.type == "call.started")
        run, _ = await driver.stop(working)
    result = checked(driver.events)
    assert (run.reason, result.exit_code) == (StopReason.INTERRUPTED, 130)
    assert [c.status for c in result.calls] == ["interrupted"]
    assert STOP.detail == result.detail


async def test_the_simulator_and_the_log_say_the_same(tmp_path: Path) -> None:
    """A whole repair: the result of the live events is that of the session's log."""
    with running(SimSettings(port=0)) as sim:
        async with driving(f"{sim.url}/v1", tmp_path, model="laguna-sim-rule-based", mode=Mode.ALLOW_ALL) as driver:
            (tmp_path / "note.txt").write_text("A note.\n")
            await driver.run("Read note.txt")
    live = checked(driver.events)
    rows, _ = read_rows(by_id(sessions_folder(), driver.session.hub.session).path.read_bytes())
    assert result_of(runs_of(rows)[-1]) == live
    assert any(isinstance(event.body, ContentDelta) for event in driver.events)
    assert live.per_turn[1].cached_share


def test_json_is_one_object_for_each_run() -> None:
    out = io.StringIO()
    shown = JsonOutput(out)
    hub = EventHub("s")
    for reason in (StopReason.USAGE_ERROR, StopReason.COMPLETED):
        shown.show(hub.emit(RunFinished(reason, 2, "", "", 0, 0.0, Usage())))
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [row["reason"] for row in rows] == ["usage_error", "completed"]
    assert [fault for row in rows for fault in faults(row)] == []
    assert set(printed_kinds()) >= {"run.started", "run.finished"}
