"""Tasks of subagents through the whole agent: readers, writers in worktrees, limits, stops, and what stays of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from pool.agent.digest import result_of, runs_of
from pool.config.agents import AgentSettings
from pool.config.settings import Budgets, Mode
from pool.events import (
    CallFinished,
    CallOutput,
    CallProposed,
    Event,
    RunFinished,
    StopReason,
    TaskFinished,
    TaskProgress,
    TaskStarted,
    plain,
    to_dict,
)
from pool.headless.shown import shown_rows
from pool.sessions.index import SessionIndex
from pool.sessions.log import read_rows
from pool.sessions.store import by_id, last_of, sessions_folder
from tests.agent.subagents.talks import Talks, git, repository
from tests.cases.driver import answer, call, delta, driving, finish, say, usage, whole
from tests.wire.scripted import Exchange

VLLM = {"/version": {"version": "0.25.1"}, "/metrics": "vllm:num_requests_running 1\nvllm:num_requests_waiting 0\n"}


def writes(call_id: str, event: Event) -> bool:
    """Whether the task of a call writes its answer."""
    return event.envelope.call == call_id and isinstance(event.body, TaskProgress) and event.body.step == "writes"


def tasks(*given: tuple[str, str]) -> list[bytes]:
    calls = [whole("task", f"t{n}", index=n, agent=agent, prompt=prompt) for n, (agent, prompt) in enumerate(given)]
    return [*calls, finish("tool_calls"), usage(100, 5)]


async def test_readers_and_a_writer_side_by_side(tmp_path: Path) -> None:
    work = repository(tmp_path / "w")
    scripts = {
        "Start": (say(*tasks(("explore", "Look at a.txt"), ("general", "Write b.txt"))), answer("Both are done.")),
        "Look": (call("write", "w", path="x", content="x"), call("read", "r", path="a.txt"), answer("It says one.")),
        "Write": (call("write", "w", path="b.txt", content="two\n"), answer("Written.")),
    }
    async with Talks(scripts, VLLM) as server, driving(server.url, work, mode=Mode.ACCEPT_EDITS) as driver:
        await driver.until(lambda event: True)
        run = await driver.run("Start.")
        assert run.reason is StopReason.COMPLETED
        looked, wrote = run.of(CallFinished)
        session = driver.session.hub.session
    assert server.complaints == []
    assert (looked.status, wrote.status) == ("ok", "ok")
    assert looked.text.startswith("explore ended: completed; 3 turns, 315 tokens, ")
    assert looked.text.endswith("\n\nIt says one.")
    branch = wrote.data["branch"]
    assert f"`git merge {branch}` brings it here." in wrote.text
    assert "1 file changed, 1 insertion(+)" in wrote.text
    assert not (work / "b.txt").exists()
    assert git(work, "show", f"{branch}:b.txt") == "two\n"
    assert sorted(p.name for p in work.iterdir()) == [".git", "a.txt"]
    # What would change something is refused to a reader, and nobody is asked.
    assert "Plan mode is read-only" in server.results("Look")[0]
    tools = [tool["function"]["name"] for tool in server.bodies["Look"][0]["tools"]]
    assert not {"task", "ask", "todo"} & set(tools)
    assert "You are a subagent" in server.bodies["Look"][0]["messages"][0]["content"]
    assert server.bodies["Look"][0]["messages"][1]["content"] == "Look at a.txt"

    # Its tokens are those of the run, and each task is told of as it goes.
    begun = {body.kind: body for body in run.of(TaskStarted)}
    ended = {body.kind: body for body in run.of(TaskFinished)}
    assert begun["general"].branch == branch
    assert ended["general"].stat == "1 file changed, 1 insertion(+)"
    assert run.finished.usage.total == 2 * 105 + 3 * 105 + 2 * 105
    assert any("a.txt" in body.text for body in run.of(CallOutput))
    assert any(body.turns == 3 and body.tokens == 315 for body in run.of(TaskProgress))
    rows = [plain(to_dict(event)) for event in run.events]
    made = result_of(runs_of(rows)[0])
    assert [(task.agent, task.turns, task.usage.total) for task in sorted(made.subagents, key=lambda t: t.agent)] == [
        ("explore", 3, 315),
        ("general", 2, 210),
    ]

    # A subagent's session can be looked at, names its parent, and is not among the user's own.
    found = by_id(sessions_folder(), begun["explore"].task_session)
    assert (found.parent, found.prompt) == (session, "Look at a.txt")
    rows, _ = read_rows(found.path.read_bytes())
    assert f"a subagent's, for the session {session}" in list(shown_rows(rows))
    rows, _ = read_rows(by_id(sessions_folder(), session).path.read_bytes())
    assert f"  the subagent explore works in session {found.id}" in list(shown_rows(rows))
    assert last_of(sessions_folder(), str(work)).id == session
    with SessionIndex(sessions_folder(), lambda text: None) as index:
        assert [entry.id for entry in index.entries(str(work))] == [session]
        assert len(index.entries(str(work), tasks=True)) == 2


async def test_a_single_slot_queues_and_says_what_it_costs(tmp_path: Path) -> None:
    scripts = {
        "Start": (say(*tasks(("explore", "First look"), ("explore", "Second look"))), answer("Done.")),
        "First": (answer("1."),),
        "Second": (answer("2."),),
    }
    documents = {"/props": {"total_slots": 1, "default_generation_settings": {"n_ctx": 65_536}}}
    async with Talks(scripts, documents) as server, driving(server.url, tmp_path / "w") as driver:
        await driver.run("Hello, Start.")
        await driver.until(lambda event: isinstance(event.body, TaskFinished) and "Second" in event.body.title)
    told = "".join(e.body.text for e in driver.events if isinstance(e.body, CallOutput))
    assert "the server has a single slot, so the conversation leaves its cache for this task: about" in told
    assert "waits for a place: the server has a single slot" in told
    assert server.most_open == 1


async def test_what_a_subagent_uses_is_its_parents_budget(tmp_path: Path) -> None:
    loop = [call("read", f"r{n}", path="a.txt", offset=n + 1) for n in range(30)]
    scripts = {"Start": (call("task", agent="explore", prompt="Look"), answer("Enough.")), "Look": loop}
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("x\n" * 50)
    async with (
        Talks(scripts, VLLM) as server,
        driving(server.url, tmp_path / "w", budgets=Budgets(tokens=600)) as driver,
    ):
        run = await driver.run("Start.")
    (ended,) = run.of(TaskFinished)
    assert (ended.reason, ended.turns) == ("max_tokens", 5)
    assert "the run that gave the task has used 630 of its 600 tokens" in ended.detail
    assert run.of(CallFinished)[-1].status == "failed"
    assert run.reason is StopReason.MAX_TOKENS
    assert server.complaints == []


async def test_a_guard_of_a_subagent_ends_it_and_is_the_result(tmp_path: Path) -> None:
    same = [call("shell", f"s{n}", command="nothing-of-the-kind") for n in range(30)]
    scripts = {"Start": (call("task", agent="explore", prompt="Look"), answer("I see.")), "Look": same}
    async with Talks(scripts, VLLM) as server, driving(server.url, tmp_path / "w", mode=Mode.DEFAULT) as driver:
        run = await driver.run("Start.")
    assert run.reason is StopReason.COMPLETED
    (ended,) = run.of(TaskFinished)
    assert ended.reason == "denied"
    assert "explore ended: denied (3 calls in a row were denied)" in server.results("Start")[0]


async def test_a_stop_ends_the_subagent_and_the_history_says_so(tmp_path: Path) -> None:
    work = repository(tmp_path / "w")

    async def endless(exchange: Exchange) -> None:
        await exchange.start()
        for n in range(10_000):
            await exchange.chunk(delta(content=f"word {n} "))
            await asyncio.sleep(0.005)

    scripts = {
        "Start": (say(*tasks(("general", "Write b.txt"), ("explore", "Look"))), answer("Well.")),
        "Write": (call("write", "w", path="b.txt", content="two\n"), endless),
        "Look": (endless,),
    }
    async with Talks(scripts, VLLM) as server, driving(server.url, work) as driver:
        running = asyncio.create_task(driver.run("Start."))
        for call_id in ("t0", "t1"):
            await driver.until(
                lambda e, c=call_id: (
                    e.envelope.call == c and isinstance(e.body, TaskProgress) and e.body.step == "writes"
                )
            )
        run, _ = await driver.stop(running)
        # All of it has ended before the run has.
        assert isinstance(run.events[-1].body, RunFinished)
        ended = next(body for body in run.of(TaskFinished) if body.kind == "general")
        assert [body.reason for body in run.of(TaskFinished)] == ["interrupted", "interrupted"]
        assert [body.status for body in run.of(CallFinished)] == ["interrupted", "interrupted"]
        assert run.reason is StopReason.INTERRUPTED
        await driver.run("Go on.")
        told = server.results("Start")[0]
        assert told.startswith("Interrupted: the run was stopped before general had a result.")
        assert f"branch {ended.branch}" in told
    assert server.complaints == []
    tree = tmp_path / "w.worktrees" / ended.branch.replace("/", "-")
    assert (tree / "b.txt").read_text() == "two\n"
    rows, _ = read_rows(by_id(sessions_folder(), ended.task_session).path.read_bytes())
    assert rows[-1]["type"] == "run.finished"
    json.dumps(rows)


async def test_work_for_a_server_of_somebody_elses_is_asked_about(tmp_path: Path) -> None:
    away = AgentSettings("away", "is clever", base_url="https://models.example/v1", read_only=True)
    scripts = {"Start": (call("task", agent="away", prompt="Look"), answer("Could not do it: denied."))}
    async with (
        Talks(scripts, VLLM) as server,
        driving(server.url, tmp_path / "w", agents=(away,), mode=Mode.ACCEPT_EDITS) as driver,
    ):
        run = await driver.run("Start.")
    (proposed,) = run.of(CallProposed)
    assert proposed.effect == "network"
    assert proposed.preview.startswith("[the task, and the files that it reads, go to https://models.example/v1]")
    assert [body.status for body in run.of(CallFinished)] == ["denied"]
    assert run.of(TaskStarted) == []


async def test_what_makes_no_sense_is_answered(tmp_path: Path) -> None:
    scripts = {
        "Start": (
            call("task", "t1", agent="nobody", prompt="x"),
            call("task", "t2", agent="explore", prompt="  "),
            call("task", "t3", agent="deaf", prompt="Look"),
            answer("I see."),
        )
    }
    deaf = AgentSettings("deaf", "is away", base_url="http://127.0.0.1:9", model="m", read_only=True)
    changes = {"agents": (deaf,), "first_contact_seconds": 0.1, "wait_server_seconds": 0.1}
    async with Talks(scripts, VLLM) as server, driving(server.url, tmp_path / "w", **changes) as driver:
        run = await driver.run("Start.")
    nobody, empty, lost = (body.text for body in run.of(CallFinished))
    assert "nobody" in nobody
    assert "`prompt` is empty" in empty
    assert "server_failed" in lost
    assert server.complaints == []


async def test_outside_of_a_repository_a_writer_works_in_the_folder_itself(tmp_path: Path) -> None:
    scripts = {
        "Start": (call("task", agent="general", prompt="Write b.txt"), answer("Done.")),
        "Write": (call("write", path="b.txt", content="two\n"), answer("Written.")),
    }
    async with Talks(scripts, VLLM) as server, driving(server.url, tmp_path / "w") as driver:
        run = await driver.run("Start.")
        undo = driver.session.undo
        assert undo is not None
        assert (tmp_path / "w" / "b.txt").read_text() == "two\n"
        await undo.carry_out(await undo.plan("1"))
        assert not (tmp_path / "w" / "b.txt").exists()
    (proposed,) = run.of(CallProposed)
    assert proposed.effect == "execute"
    assert [c.path for c in run.finished.changes] == ["b.txt"]
    assert server.complaints == []


async def test_a_repository_without_a_commit_can_have_no_worktree(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    git(tmp_path / "w", "init", "-q")
    scripts = {"Start": (call("task", agent="general", prompt="Write b.txt"), answer("I see."))}
    async with Talks(scripts, VLLM) as server, driving(server.url, tmp_path / "w") as driver:
        run = await driver.run("Start.")
    (finished,) = run.of(CallFinished)
    assert finished.status == "failed"
    assert "there can be none: the repository has no commits yet" in finished.text
