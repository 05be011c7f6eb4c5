"""Checkpoints in a running session: what commands changed is known, kept before it happens, and comes back by /undo."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pool.agent.commands import execute
from pool.agent.control import Conversation
from pool.events import CallFinished, CallOutput, CallStarted, CheckpointTaken, Notice, Rewound
from pool.sessions.checkpoints.checkpoints import checkpoints_folder
from pool.sessions.store import sessions_folder
from tests.cases.driver import Driver, ModelServer, answer, call, driving
from tests.sessions.checkpoints.repos import repository, tree

WRITES = "echo two > a; echo new > 'n w'; rm gone"


def kinds(driver: Driver) -> list[str]:
    return [e.body.type for e in driver.events if isinstance(e.body, (CheckpointTaken, CallStarted, CallFinished))]


async def test_commands_are_known_by_what_they_change_and_undone_with_the_conversation(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", a="one\n", gone="x\n")
    before = tree(root)
    steps = (answer("Hello."), call("shell", command=WRITES), call("write", "c2", path="made.txt", content="m\n"))
    async with ModelServer(*steps, answer("Done.")) as server, driving(server.url, root) as driver:
        talk = Conversation(driver.session)
        await driver.run("Say hello.")
        said = driver.session.agent.history.data
        run = await driver.run("Change files.")
        assert kinds(driver) == ["checkpoint.taken", "call.started", "call.finished"] * 2
        changed = {c.path: (c.kind, c.added, c.removed) for c in run.of(CallFinished)[0].changes}
        assert changed == {"a": ("modified", 1, 1), "n w": ("created", 1, 0), "gone": ("deleted", 0, 1)}
        assert {c.path for c in run.finished.changes} == {"a", "n w", "gone", "made.txt"}
        diff = await execute("/diff", talk)
        assert "+two" in diff.lines
        assert diff.rows is not None
        assert [row[0] for row in diff.rows.rows] == ["a", "gone", "made.txt", "n w"]
        shown = await execute("/undo", talk)
        assert shown.ask is not None
        assert (root / "a").read_text() == "two\n"
        assert (await execute(shown.ask.choices[0].line, talk)).ok
        assert tree(root) == before
        assert driver.session.agent.history.data == said
        assert any(isinstance(e.body, Rewound) for e in driver.events)
        assert (await execute("/redo --now", talk)).ok
        assert (root / "n w").read_text() == "new\n"
        assert (await execute("/rewind 1 conversation --now", talk)).ok
        assert len(driver.session.agent.history.data) == 1
        assert (root / "n w").read_text() == "new\n"
        assert not (await execute("/undo 9", talk)).ok
        assert server.complaints == []


async def test_a_stopped_command_is_known_and_undone_too(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", a="one\n")
    slow = call("shell", command="echo half > a; echo started; sleep 30")
    async with ModelServer(slow, answer("Done.")) as server, driving(server.url, root) as driver:
        running = asyncio.create_task(driver.run())
        await driver.until_body(CallOutput, "started")
        run, seconds = await driver.stop(running)
        assert seconds < 2
        assert [(c.status, [x.path for x in c.changes]) for c in run.of(CallFinished)] == [("interrupted", ["a"])]
        assert (await execute("/undo files --now", Conversation(driver.session))).ok
    assert (root / "a").read_text() == "one\n"


async def test_what_a_job_changes_later_is_the_runs(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", a="one\n", b="one\n")
    later = "sleep 1.3; echo late > a; sleep 30"
    steps = (call("job", action="start", command=later), call("shell", "c2", command="sleep 1; echo x > b"))
    async with ModelServer(*steps, answer("Done.")) as server, driving(server.url, root) as driver:
        await driver.run()
        assert (root / "a").read_text() == "late\n"
        assert (await execute("/undo files --now", Conversation(driver.session))).ok
    assert (root / "a").read_text() == "one\n"
    assert (root / "b").read_text() == "one\n"


async def test_where_nothing_can_be_kept_the_run_goes_on_and_it_is_said(tmp_path: Path) -> None:
    root = tmp_path / "r"
    steps = (call("shell", command="echo x > f"), answer("Done."))
    async with ModelServer(*steps) as server, driving(server.url, root) as driver:
        folder = checkpoints_folder(sessions_folder(), driver.session.hub.session)
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("in the way")
        run = await driver.run()
        assert run.calls == [("shell", "ok")]
        assert any("cannot be undone" in notice.text for notice in run.of(Notice))
        assert not (await execute("/undo files --now", Conversation(driver.session))).ok
    assert (root / "f").read_text() == "x\n"
