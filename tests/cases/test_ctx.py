"""CTX cases: a history that does not fit, a window that is smaller than thought, roles that strict templates take."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pool.events import Compacted, GuardFired, Notice, StopReason, UsageReported
from tests.cases.driver import (
    Json,
    ModelServer,
    Run,
    Step,
    answer,
    call,
    delta,
    driving,
    finish,
    piece,
    refuse,
    say,
    usage,
    whole,
    work,
)
from tests.cases.window import WindowServer

SUMMARY = "The user wants the files read. Read so far: all. Open: nothing."
LINES = "".join(f"{i} lorem ipsum dolor sit amet consectetur adipiscing elit\n" for i in range(500))


def size(body: Json) -> int:
    """About how many tokens a request has."""
    return len(json.dumps(body["messages"])) // 4


def is_summary(body: Json) -> bool:
    return body.get("tool_choice") == "none"


def reading(n: int, tokens: int) -> Step:
    return say(whole("read", f"c{n}", path="big.txt", limit=200 + n), finish("tool_calls"), usage(tokens, 20))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "big.txt").write_text(LINES)
    return tmp_path


OVERFLOWS = {
    "vllm": (
        400,
        "This model's maximum context length is 16384 tokens. However, you requested 8192 output tokens and your "
        "prompt contains at least 8193 input tokens, for a total of at least 16385 tokens.",
    ),
    "llama.cpp": (400, "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it"),
    "sglang": (400, "The input (9001 tokens) is longer than the model's context length (8192 tokens)."),
    "lmstudio": (
        400,
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context "
        "length of only 8192 tokens, which is not enough.",
    ),
    "ollama": (400, "the input length exceeds the context length"),
}


@pytest.mark.parametrize("server", OVERFLOWS)
async def test_CTX_01_each_servers_overflow_is_recognised(server: str, workspace: Path) -> None:
    """Room is made once, and the request that then fits is sent once."""
    status, message = OVERFLOWS[server]
    refused: list[int] = []

    def plan(body: Json, n: int) -> Step:
        if is_summary(body):
            return answer(SUMMARY)
        if n <= 5:
            return reading(n, size(body))
        if not refused or size(body) > 0.9 * refused[0]:
            refused.append(size(body))
            return refuse(status, message)
        return answer("All done.")

    async with WindowServer(plan) as model:
        run = await work(model, workspace)
    assert (run.reason, run.answer) == (StopReason.COMPLETED, "All done.")
    assert len(refused) <= 2
    assert len(run.of(Compacted)) == 1


async def test_CTX_02_max_tokens_is_fitted_to_what_is_left(workspace: Path) -> None:
    window = 12_000
    asked: list[tuple[int, int]] = []

    def plan(body: Json, n: int) -> Step:
        asked.append((size(body), body["max_tokens"]))
        if is_summary(body):
            return answer(SUMMARY)
        return reading(n, size(body)) if n <= 3 else answer("Done.")

    async with WindowServer(plan) as model:
        run = await work(model, workspace, window=window)
    assert run.reason is StopReason.COMPLETED
    assert all(1 <= most <= window - prompt for prompt, most in asked)
    assert min(most for _, most in asked) < 8192


async def test_CTX_03_compactions_that_do_not_help(workspace: Path) -> None:
    """Each reply says that the window is full, whatever was sent."""

    def plan(body: Json, n: int) -> Step:
        if is_summary(body):
            return say(delta(content=SUMMARY), finish("stop"), usage(65_536, 30))
        return say(whole("shell", f"c{n}", command=f"echo {n}"), finish("tool_calls"), usage(65_536, 30))

    async with WindowServer(plan) as model:
        run = await work(model, workspace)
    assert (run.reason, run.finished.exit_code) == (StopReason.CONTEXT_EXHAUSTED, 5)
    assert "65,536" in run.finished.detail
    assert "about" in run.finished.detail
    assert len(run.of(Compacted)) <= 2
    assert len(model.bodies) < 8


async def test_a_file_may_be_read_again_after_each_compaction(workspace: Path) -> None:
    """What was read is gone from the conversation, so that reading it again is no loop."""

    def plan(body: Json, n: int) -> Step:
        if is_summary(body):
            return answer(SUMMARY)
        if n > 10:
            return answer("Done.")
        return say(whole("read", f"c{n}", path="big.txt", limit=350), finish("tool_calls"), usage(size(body), 20))

    async with WindowServer(plan) as model:
        run = await work(model, workspace, window=12_000)
    assert run.reason is StopReason.COMPLETED
    assert len(run.of(Compacted)) > 2
    assert not [fired for fired in run.of(GuardFired) if fired.guard == "loop"]


async def test_CTX_04_compaction_that_is_switched_off(workspace: Path) -> None:
    """No request for an account; the error names both numbers; the session goes on where the window is larger."""
    small = [True]

    def plan(body: Json, n: int) -> Step:
        if small[0] and n > 1:
            return refuse(400, "the input length exceeds the context length")
        return reading(n, size(body)) if n == 1 else answer("Read.")

    async with WindowServer(plan) as model, driving(model.url, workspace, auto_compact=False) as driver:
        run = await driver.run()
        assert run.reason is StopReason.CONTEXT_EXHAUSTED
        assert "65,536" in run.finished.detail
        assert "switched off" in run.finished.detail
        assert not any(is_summary(body) for body in model.bodies)
        small[0] = False
        again = await driver.run("Go on.")
    assert (again.reason, again.answer) == (StopReason.COMPLETED, "Read.")
    assert model.complaints == []
    assert not any(is_summary(body) for body in model.bodies)


async def test_CTX_05_a_server_that_read_less_than_was_sent(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text(LINES * 2)

    def plan(body: Json, n: int) -> Step:
        if n == 1:
            return say(whole("read", "c1", path="big.txt"), finish("tool_calls"), usage(1500, 20))
        return say(delta(content="Read it."), finish("stop"), usage(2046, 40))

    async with WindowServer(plan) as model:
        run = await work(model, tmp_path)
    warnings = [notice for notice in run.of(Notice) if notice.level == "warning"]
    assert any("2,046" in notice.text and "cut off" in notice.text and notice.remedy for notice in warnings)


async def test_CTX_05_a_server_that_lost_the_users_message(workspace: Path) -> None:
    def plan(body: Json, n: int) -> Step:
        if is_summary(body):
            return answer(SUMMARY)
        if n == 1:
            return reading(n, size(body))
        return refuse(500, "No user query found in messages.") if n == 2 else answer("Read.")

    async with WindowServer(plan) as model:
        run = await work(model, workspace)
    assert run.reason in (StopReason.COMPLETED, StopReason.CONTEXT_EXHAUSTED)
    said = [*(notice.text for notice in run.of(Notice)), *(c.detail for c in run.of(Compacted))]
    assert said


async def test_CTX_06_roles_are_as_strict_templates_want_them(workspace: Path) -> None:
    """A nudge, a compaction and a second prompt: one system message, first; users and assistants alternate."""

    def plan(body: Json, n: int) -> Step:
        if is_summary(body):
            return answer(SUMMARY)
        if n == 2:
            return say(delta(content=""), finish("stop"), usage(100, 1))
        return reading(n, size(body)) if n <= 8 else answer("Done.")

    async with WindowServer(plan) as model, driving(model.url, workspace, window=14_000) as driver:
        first = await driver.run()
        second = await driver.run("And now the rest.")
    assert (first.reason, second.reason) == (StopReason.COMPLETED, StopReason.COMPLETED)
    assert len(first.of(Compacted)) >= 1
    assert model.complaints == []


async def test_CTX_07_esc_while_the_second_of_two_calls_runs(workspace: Path) -> None:
    """The finished call keeps its output, the other is answered as interrupted, and the next prompt passes."""
    both = say(
        piece(0, id="a", type="function", name="shell", arguments='{"command":"echo first"}'),
        piece(1, id="b", type="function", name="shell", arguments='{"command":"echo begun; sleep 30"}'),
        finish("tool_calls"),
        usage(100, 20),
    )
    async with ModelServer(both, answer("Both are known.")) as server, driving(server.url, workspace) as driver:
        running: asyncio.Task[Run] = asyncio.create_task(driver.run())
        await driver.until(lambda event: event.body.type == "call.output" and "begun" in repr(event.body))
        stopped, seconds = await driver.stop(running)
        again = await driver.run("What did they say?")
    assert stopped.reason is StopReason.INTERRUPTED
    assert seconds < 1.0
    assert (again.answer, server.complaints) == ("Both are known.", [])
    results = [m["content"] for m in server.bodies[1]["messages"] if m["role"] == "tool"]
    assert "first" in results[0]
    assert "nterrupted" in results[1]


async def test_a_compaction_keeps_the_task_the_request_and_the_last_turns(workspace: Path) -> None:
    """Twice in one session: the account does not grow into itself."""

    def plan(body: Json, n: int) -> Step:
        if is_summary(body):
            return answer(f"{SUMMARY} Number {n}.")
        return call("shell", f"c{n}", command=f"echo step {n}") if n % 4 else answer("Done.")

    async with WindowServer(plan) as model, driving(model.url, workspace) as driver:
        await driver.run("First task.")
        await driver.run("Second task.")
        assert await driver.session.agent.compact("the port number") is not None
        asked = model.bodies[-1]["messages"][-1]["content"]
        await driver.run("Third task.")
        await driver.session.agent.compact()
        run = await driver.run("Fourth task.")
    assert "the port number" in asked
    opening = str(model.bodies[-1]["messages"][1]["content"])
    assert opening.startswith("First task.")
    assert opening.count("was replaced by this account") == 1
    assert "Third task." in opening
    assert model.complaints == []
    assert {u.prefix_break for u in run.of(UsageReported)} == {"", "compaction"}


async def test_a_compaction_that_does_not_fit_itself_is_tried_smaller(workspace: Path) -> None:
    limits: list[int] = []

    def plan(body: Json, n: int) -> Step:
        if is_summary(body):
            limits.append(size(body))
            return answer(SUMMARY) if len(limits) == 3 else refuse(400, "the input length exceeds the context length")
        if n <= 6:
            return reading(n, size(body))
        return answer("Done.") if limits else refuse(400, "the input length exceeds the context length")

    # The last results alone do not leave room for pruning: all of them are recent.
    async with WindowServer(plan) as model, driving(model.url, workspace) as driver:
        run = await driver.run()
    assert run.reason is StopReason.COMPLETED
    assert limits == sorted(limits, reverse=True)
