"""Hooks through the whole agent: real commands in bash, a scripted model on a real socket."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pool.agent.digest import result_of
from pool.config.hooks import Hook, HookPoint, OnError
from pool.config.settings import SandboxChoice
from pool.events import ApprovalGiven, CallFinished, CallProposed, HookRan, StopReason, to_dict
from tests.cases.driver import ModelServer, answer, call, driving, last_result, last_user, play

WRITE = call("write", "c1", path="a.py", content="x=1\n")


def hook(point: HookPoint, command: str, name: str = "h", **more: Any) -> Hook:
    return Hook(name, point, command, **more)


def before(command: str, **more: Any) -> Hook:
    return hook(HookPoint.BEFORE_TOOL, command, **more)


def after(command: str, **more: Any) -> Hook:
    return hook(HookPoint.AFTER_TOOL, command, **more)


def says(**answer_: Any) -> str:
    return f"cat > /dev/null; echo '{json.dumps(answer_)}'"


async def test_a_hook_gets_json_and_may_deny_a_call(tmp_path: Path) -> None:
    kept = tmp_path / "seen.json"
    guard = before(f"cat > {kept}; echo 'not that file' >&2; exit 2", match="write(a.*)")
    steps = (WRITE, call("write", "c2", path="b.py", content="y\n"), answer("Done."))
    run, bodies = await play(tmp_path / "w", *steps, hooks=(guard,))
    assert run.calls == [("write", "denied"), ("write", "ok")]
    assert run.reason is StopReason.DENIED
    assert "the hook h says no: not that file" in last_result(bodies[1])
    seen = json.loads(kept.read_text())
    assert (seen["event"], seen["tool"], seen["arguments"]["path"]) == ("before-tool", "write", "a.py")
    assert run.of(ApprovalGiven)[0].by == "hook"
    (ran,) = run.of(HookRan)
    assert (ran.hook, ran.point, ran.outcome, ran.detail) == ("h", "before-tool", "blocked", "not that file")
    (told,) = result_of([to_dict(event) for event in run.events]).hooks
    assert (told.call, told.hook, told.outcome) == ("c1", "h", "blocked")


async def test_changed_arguments_are_validated_and_approved_as_the_call_they_became(tmp_path: Path) -> None:
    made = {"path": "secret/b.py", "content": "z\n"}
    rewrite = before(says(arguments=made, context="renamed"), match="write")
    run, bodies = await play(tmp_path, WRITE, answer("Done."), hooks=(rewrite,), deny=("write(secret/**)",))
    assert run.calls == [("write", "denied")]
    assert run.of(CallProposed)[0].arguments == made
    run, bodies = await play(tmp_path, WRITE, answer("Done."), hooks=(rewrite,))
    assert run.calls == [("write", "ok")]
    assert (tmp_path / "secret/b.py").read_text() == "z\n"
    told = last_result(bodies[1])
    assert "a hook changed the arguments" in told
    assert "secret/b.py" in told
    assert "[the hook h adds:]\nrenamed" in told
    assert run.of(HookRan)[0].outcome == "rewrote"


FAILING = (
    (says(arguments={"path": 5}), "do not fit write"),
    ("echo '{'", "none: Expecting"),
    (says(arguments=[]), "no object"),
    (says(go_on="x"), "at before-tool there are"),
    ("exit 7", "status 7"),
    ("head -c 300000 /dev/zero", "more than 262,144 bytes"),
    ("kill -9 $$", "status 137"),
    ("no-such-program-at-all", "status 127"),
)


async def test_a_failed_hook_does_what_on_error_says(tmp_path: Path) -> None:
    failing = tuple(before(command, name=f"h{i}") for i, (command, _) in enumerate(FAILING))
    run, _ = await play(tmp_path, WRITE, answer("Done."), hooks=failing)
    assert run.calls == [("write", "ok")]
    for ran, (_, said) in zip(run.of(HookRan), FAILING, strict=True):
        assert ran.outcome == "failed"
        assert said in ran.detail
    denying = (replace(failing[4], on_error=OnError.DENY), failing[0])
    run, bodies = await play(tmp_path, WRITE, answer("Done."), hooks=denying)
    assert run.calls == [("write", "denied")]
    assert [ran.hook for ran in run.of(HookRan)] == ["h4"]
    assert "the hook h4 failed: it ended with status 7" in last_result(bodies[1])


async def test_a_formatter_after_an_edit_does_not_make_the_next_edit_fail(tmp_path: Path) -> None:
    fmt = after('sed -i "s/=/ = /" "$HOOK_FILE"', match="write")
    edit = call("edit", "c2", path="a.py", old_text="x = 1", new_text="x=2")
    long = "".join(f"v{i}=0\n" for i in range(200))
    whole = call("write", "c3", path="long.py", content=long)
    later = call("edit", "c4", path="long.py", old_text="v150 = 0", new_text="v150 = 1")
    run, bodies = await play(tmp_path, WRITE, edit, whole, later, answer("Done."), hooks=(fmt,))
    assert run.calls == [("write", "ok"), ("edit", "ok"), ("write", "ok"), ("edit", "ok")]
    told = bodies[1]["messages"][-1]["content"]
    assert "files that you have read have changed" in told
    assert "-x=1\n+x = 1" in told
    assert "long.py (+200 -200 lines, too many to show" in bodies[3]["messages"][-1]["content"]
    assert (tmp_path / "a.py").read_text() == "x = 2\n"


async def test_prompts_are_added_to_changed_and_refused(tmp_path: Path) -> None:
    start = hook(HookPoint.SESSION_START, "echo 'The build is red.'", "start")
    ask = hook(
        HookPoint.PROMPT,
        "grep -q secret && { echo 'no secrets' >&2; exit 2; } || echo '{\"prompt\": \"Do it well.\"}'",
        "ask",
    )
    async with ModelServer(answer("Done.")) as server, driving(server.url, tmp_path, hooks=(start, ask)) as driver:
        first = await driver.run()
        refused = await driver.run("my secret")
        third = await driver.run("again")
    assert server.complaints == []
    assert last_user(server.bodies[0]) == "Do it well.\n\n[the hook start adds:]\nThe build is red."
    assert [ran.hook for ran in first.of(HookRan)] == ["start", "ask"]
    assert (refused.reason, refused.finished.exit_code) == (StopReason.DENIED, 7)
    assert "no secrets" in refused.finished.detail
    assert third.reason is StopReason.COMPLETED
    assert "secret" not in json.dumps(server.bodies)
    assert len(server.bodies) == 2


async def test_a_stop_hook_asks_to_go_on_but_not_for_ever(tmp_path: Path) -> None:
    tests = hook(HookPoint.STOP, "echo 'run the tests first' >&2; exit 2")
    run, bodies = await play(tmp_path, answer("Done."), hooks=(tests,))
    assert run.reason is StopReason.COMPLETED
    assert len(bodies) == 4
    assert last_user(bodies[3]).endswith("run the tests first")
    assert [ran.outcome for ran in run.of(HookRan)] == ["go-on"] * 3 + ["ok"]


async def test_a_hook_before_compaction_may_refuse_it_or_say_what_to_keep(tmp_path: Path) -> None:
    keep = hook(HookPoint.BEFORE_COMPACTION, "echo 'keep the port number'")
    async with ModelServer(answer("Done.")) as server, driving(server.url, tmp_path, hooks=(keep,)) as driver:
        await driver.run()
        await driver.session.agent.compact()
    assert "keep the port number" in json.dumps(server.bodies[-1])
    refuse = replace(keep, command="exit 2")
    async with ModelServer(answer("Done.")) as server, driving(server.url, tmp_path, hooks=(refuse,)) as driver:
        await driver.run()
        assert not await driver.session.agent.compact()
    assert len(server.bodies) == 1


async def test_a_hook_ends_with_the_run_and_at_its_limit_with_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    hang = before(f"setsid sleep 1000 & echo $! > {mark}; sleep 1000", seconds=60)
    async with ModelServer(WRITE, answer("Done.")) as server, driving(server.url, tmp_path, hooks=(hang,)) as driver:
        running = asyncio.create_task(driver.run())
        async with asyncio.timeout(20):
            while not (mark.exists() and mark.read_text().strip()):
                await asyncio.sleep(0.01)
        run, _ = await driver.stop(running)
    assert run.reason is StopReason.INTERRUPTED
    assert _gone(int(mark.read_text()))
    run, _ = await play(tmp_path, WRITE, answer("Done."), hooks=(replace(hang, seconds=0.3),))
    assert run.calls == [("write", "ok")]
    assert "took longer than 0.3 s" in run.of(HookRan)[0].detail
    assert _gone(int(mark.read_text()))


def _gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has collected yet has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


async def test_what_a_hook_writes_reaches_neither_terminal_nor_model_raw(tmp_path: Path) -> None:
    evil = after(r"printf '\033]0;owned\007\033[31mred\033[0m\033[2J <b>x</b>'")
    run, bodies = await play(tmp_path, WRITE, answer("Done."), hooks=(evil,))
    for text in (run.of(HookRan)[0].detail, last_result(bodies[1]), run.of(CallFinished)[0].text):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert "red <b>x</b>" in last_result(bodies[1])


async def test_hooks_of_a_project_run_in_the_sandbox_or_not_at_all(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    touch = before(f"touch {outside}/owned || true; touch inside; echo ran", name="project/h")
    run, _ = await play(tmp_path / "w", WRITE, answer("Done."), hooks=(touch,))
    assert "no sandbox holds it" in run.of(HookRan)[0].detail
    run, _ = await play(tmp_path / "w", WRITE, answer("Done."), hooks=(touch,), sandbox=SandboxChoice.AUTO)
    if run.of(HookRan)[0].outcome == "failed":
        pytest.skip("no sandbox works here")
    assert (tmp_path / "w" / "inside").exists()
    assert not (outside / "owned").exists()


async def test_a_hook_outside_the_sandbox_runs_nothing_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "evil.sh").write_text("echo ran")
    free = before("bash ./evil.sh", sandbox=False, on_error=OnError.DENY)
    run, _ = await play(tmp_path, WRITE, answer("Done."), hooks=(free,))
    assert "lies in the workspace" in run.of(HookRan)[0].detail
    where = before("pwd; echo $POOL_API_KEY", sandbox=False)
    run, bodies = await play(tmp_path, WRITE, answer("Done."), hooks=(where,))
    assert f"adds:]\n{Path.home()}" in last_result(bodies[1])
