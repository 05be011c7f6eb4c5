"""LOOP cases: how runs end, or go on, when the model gives nothing, repeats itself, or only thinks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pool.config.settings import Budgets
from pool.events import GuardFired, MessageAdded, Notice, StopReason
from tests.cases.driver import (
    ModelServer,
    Run,
    Step,
    answer,
    broken,
    call,
    delta,
    finish,
    last_result,
    last_user,
    play,
    say,
    usage,
    work,
)
from tests.cases.window import WindowServer
from tests.guards.corpus.texts import table
from tests.guards.player import play as play_case
from tests.guards.script import Case, Say, edit, shell
from tests.wire.scripted import Exchange

READ = call("read", "r1", path="hello.txt")
EMPTY = say(delta(role="assistant", content=""), finish("stop"), usage(100, 1))


def fired(run: Run) -> list[tuple[str, str]]:
    """Guard and action of each firing."""
    return [(body.guard, body.action) for body in run.of(GuardFired)]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "hello.txt").write_text("hello\n")
    return tmp_path


async def test_LOOP_01_an_empty_reply_after_a_result(workspace: Path) -> None:
    """One nudge, which is in the history but is not the user's prompt in any face's eyes: it is a guard's event."""
    run, bodies = await play(workspace, READ, EMPTY, answer("Port is 8080."))
    assert (run.answer, run.reason, len(bodies)) == ("Port is 8080.", StopReason.COMPLETED, 3)
    assert fired(run) == [("reply", "nudge")]
    assert last_user(bodies[2]).startswith("[Pool] ")
    assert bodies[2]["messages"] != bodies[1]["messages"]


async def test_LOOP_02_empty_replies_for_ever(workspace: Path) -> None:
    run, bodies = await play(workspace, READ, EMPTY)
    assert (run.reason, run.finished.exit_code, len(bodies)) == (StopReason.UNUSABLE_REPLY, 8, 3)
    assert "returned nothing" in run.finished.detail


@pytest.mark.parametrize("times", [1, 2])
async def test_LOOP_03_an_announced_action(times: int, workspace: Path) -> None:
    announced = [answer("Now I will update config.py:")] * times
    run, bodies = await play(workspace, READ, *announced, answer("The update is not needed."))
    assert (run.answer, len(bodies)) == ("The update is not needed.", 2 + times)
    assert fired(run) == [("reply", "nudge")] * times


async def test_LOOP_03_the_second_nudge_forces_a_call(workspace: Path) -> None:
    announced = answer("Now I will update config.py:")
    _, bodies = await play(workspace, READ, announced, announced, answer("It is done already."))
    forced = [body.get("response_format", {}).get("type") for body in bodies]
    assert forced == [None, None, None, "structural_tag"]


async def test_LOOP_03_announced_for_ever_is_no_answer(workspace: Path) -> None:
    run, bodies = await play(workspace, READ, answer("Now I will update config.py:"))
    assert (run.reason, len(bodies)) == (StopReason.UNUSABLE_REPLY, 4)


@pytest.mark.parametrize("text", ["All 12 tests pass.", "Which port do you want?", "Let me know if I should go on."])
async def test_LOOP_03_honest_endings(text: str, workspace: Path) -> None:
    run, bodies = await play(workspace, READ, answer(text))
    assert (run.answer, run.reason, len(bodies), fired(run)) == (text, StopReason.COMPLETED, 2, [])


async def test_LOOP_04_the_same_call_forty_times(workspace: Path) -> None:
    steps = [call("search", f"c{i}", pattern="zzzq") for i in range(40)]
    run, bodies = await play(workspace, *steps)
    assert (run.reason, run.finished.exit_code) == (StopReason.LOOP, 6)
    assert len(bodies) == 7
    assert [status for _, status in run.calls] == ["ok"] * 4 + ["blocked"] * 2
    assert "[Pool]" not in last_result(bodies[2])
    assert "[Pool] Call 3" in last_result(bodies[3])
    assert "was not run" in last_result(bodies[5])
    assert bodies[-1]["tool_choice"] == "none"


async def test_LOOP_05_honest_repetition(tmp_path: Path) -> None:
    """Tests after each edit, with output that changes; and polling whose output changes."""
    steps = [say_ for i in range(5) for say_ in (shell("cat n.txt; date +%N"), shell(f"echo {i} >> n.txt"))]
    steps += [edit("app.py", f"x + {i}", f"x + {i + 1}") for i in range(5)]
    files = {"n.txt": "", "app.py": "x + 0\n"}
    case = Case("honest", (*steps, Say(content="Five runs.")), honest=True, files=files)
    played = await play_case(case, tmp_path / "work")
    assert played.faults() == []
    assert (tmp_path / "work" / "n.txt").read_text() == "0\n1\n2\n3\n4\n"


async def test_LOOP_06_a_phrase_repeated_in_the_thought(workspace: Path) -> None:
    """Cut within 2,000 repeated tokens and the socket closed; the repeated text is not sent again."""
    sent: list[int] = []

    async def runaway(exchange: Exchange) -> None:
        await exchange.start()
        sent.append(0)
        try:
            while sent[-1] < 5000:
                await exchange.chunk(delta(reasoning="wait, check again. "))
                sent[-1] += 1
                if sent[-1] % 20 == 0:
                    await asyncio.sleep(0.002)
        except ConnectionError:
            return
        await exchange.chunk(finish("stop"))
        await exchange.finish()

    async with WindowServer(lambda body, n: runaway) as server:
        run = await work(server, workspace)
    assert run.reason is StopReason.OVERTHINKING
    assert len(server.bodies) <= 5
    assert fired(run).count(("thinking", "cut")) == 2
    assert all(count < 2000 for count in sent[:2])
    for request in server.requests[1:]:
        assert request.body.count(b"check again") <= 20


async def test_LOOP_06_a_table_of_similar_rows(workspace: Path) -> None:
    text = f"{table(300)}END"
    pieces = [text[i : i + 12] for i in range(0, len(text), 12)]
    run, bodies = await play(workspace, say(*(delta(content=p) for p in pieces), finish("stop"), usage(100, 3000)))
    assert (run.answer, len(bodies), fired(run)) == (text, 1, [])


async def test_LOOP_07_the_budget_goes_into_thinking(workspace: Path) -> None:
    thought = "".join(f"consider point {i * 7919 % 1000} of the plan; " for i in range(200))
    cut = say(delta(reasoning=thought), finish("length"), usage(900, 3000))
    run, bodies = await play(workspace, cut, budgets=Budgets(reasoning_soft=0))
    assert (run.reason, run.finished.exit_code) == (StopReason.MAX_TOKENS, 5)
    assert "went into thinking" in run.finished.detail
    assert len(bodies) == 3
    assert "went into thinking" in last_user(bodies[1])


@pytest.mark.parametrize("last", ["end", "close"])
async def test_LOOP_08_a_reply_of_nothing_with_zero_usage(last: str, workspace: Path) -> None:
    nothing: Step = say(delta(role="assistant"), finish("stop"), usage(0, 0))
    steps = [nothing] if last == "end" else [broken("close", delta(role="assistant"))]
    async with ModelServer(*steps) as server:
        run = await work(server, workspace, wait_server_seconds=0.5)
    assert run.reason in (StopReason.SERVER_FAILED, StopReason.UNUSABLE_REPLY)
    assert run.finished.exit_code in (8, 75)
    assert len(server.bodies) <= 8
    assert not run.answer
    assert run.of(Notice) or run.of(MessageAdded)
