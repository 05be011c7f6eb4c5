"""Hooks where the course of a run is not the usual one: steering, stops in the middle, undo, several calls at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from pool.config.hooks import Hook, HookPoint, OnError
from pool.config.settings import Budgets
from pool.events import CallFinished, CallStarted, HookRan, Notice, StopReason, Waiting
from tests.agent.subagents.talks import Talks, repository
from tests.cases.driver import ModelServer, answer, call, driving, finish, last_user, play, say, usage, whole

WRITE = call("write", "c1", path="a.py", content="x=1\n")


async def test_a_stop_in_a_hook_after_a_call_keeps_the_calls_result_and_undo_takes_back_what_it_did(
    tmp_path: Path,
) -> None:
    hang = Hook("hang", HookPoint.AFTER_TOOL, "echo y > other; touch hangs; sleep 600", "write", 600.0)
    async with ModelServer(WRITE, answer("There.")) as server, driving(server.url, tmp_path, hooks=(hang,)) as driver:
        running = asyncio.create_task(driver.run())
        async with asyncio.timeout(20):
            while not (tmp_path / "hangs").exists():
                await asyncio.sleep(0.01)
        run, _ = await driver.stop(running)
        assert any(word.detail == "hang (after-tool)" for word in run.of(Waiting))
        (finished,) = run.of(CallFinished)
        assert (finished.status, {change.path for change in finished.changes}) == ("ok", {"a.py", "other", "hangs"})
        await driver.run("Go on.")
        assert "Created a.py" in json.dumps(server.bodies[1])
        undo = driver.session.undo
        assert undo is not None
        await undo.carry_out(await undo.plan("1"))
    assert [path.name for path in tmp_path.iterdir()] == []
    assert server.complaints == []


async def test_what_is_said_to_a_running_run_is_a_prompt_too(tmp_path: Path) -> None:
    guard = Hook(
        "guard", HookPoint.PROMPT, "grep -q secret && { echo no >&2; exit 2; }; echo seen", on_error=OnError.DENY
    )
    slow = Hook("slow", HookPoint.BEFORE_TOOL, "touch waits; while [ ! -e go ]; do sleep 0.02; done")
    async with (
        ModelServer(WRITE, answer("There.")) as server,
        driving(server.url, tmp_path, hooks=(guard, slow)) as driver,
    ):
        running = asyncio.create_task(driver.run())
        async with asyncio.timeout(20):
            while not (tmp_path / "waits").exists():
                await asyncio.sleep(0.01)
        driver.session.agent.steering.add("my secret")
        driver.session.agent.steering.add("be quick")
        (tmp_path / "go").touch()
        run = await running
    assert server.complaints == []
    assert last_user(server.bodies[1]) == "be quick\n\n[the hook guard adds:]\nseen"
    assert "my secret" not in json.dumps(server.bodies)
    assert any("what you said was not sent" in notice.text for notice in run.of(Notice))


async def test_the_runs_time_ends_a_hook(tmp_path: Path) -> None:
    hang = Hook("hang", HookPoint.PROMPT, "sleep 600", seconds=600.0)
    run, bodies = await play(tmp_path, answer("There."), hooks=(hang,), budgets=Budgets(seconds=0.3))
    assert (run.reason, bodies) == (StopReason.MAX_SECONDS, [])


async def test_reads_that_hooks_are_about_run_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "b").write_text("b\n")
    both = say(
        whole("read", "c1", index=0, path="a"),
        whole("read", "c2", index=1, path="b"),
        finish("tool_calls"),
        usage(100, 5),
    )
    note = Hook("note", HookPoint.AFTER_TOOL, "cat > /dev/null", "read")
    run, _ = await play(tmp_path, both, answer("Both."), hooks=(note,))
    kinds = [type(event.body) for event in run.events if isinstance(event.body, CallStarted | CallFinished | HookRan)]
    assert kinds == [CallStarted, HookRan, CallFinished] * 2


async def test_a_guard_holds_in_subagents_too_and_hooks_of_prompts_and_ends_are_the_users_own(tmp_path: Path) -> None:
    guard = Hook("guard", HookPoint.BEFORE_TOOL, f"cat >> {tmp_path}/seen; exit 2", "write")
    ask = Hook("ask", HookPoint.PROMPT, f"cat >> {tmp_path}/prompts")
    end = Hook("end", HookPoint.STOP, f"cat >> {tmp_path}/prompts")
    work = repository(tmp_path / "w")
    scripts = {
        "Start": (call("task", "t1", agent="general", prompt="Write b.txt"), answer("It could not.")),
        "Write": (call("write", "w", path="b.txt", content="two\n"), answer("I was not allowed to.")),
    }
    async with Talks(scripts) as server, driving(server.url, work, hooks=(guard, ask, end)) as driver:
        await driver.run("Start.")
        session = driver.session.hub.session
    assert "the hook guard says no" in server.results("Write")[0]
    assert json.loads((tmp_path / "seen").read_text())["parent"] == session
    events = (tmp_path / "prompts").read_text()
    assert (events.count('"event": "prompt"'), events.count('"event": "stop"')) == (1, 1)
