"""Whole runs against a server that speaks Ollama's own API on a real socket."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pool.agent.approvals import NobodyThere
from pool.agent.factory import open_session
from pool.config.settings import Budgets, Mode, SandboxChoice, Settings
from pool.events import Body, Notice, RunFinished, StopReason, TurnFinished, TurnStarted, UsageReported
from pool.messages import system, user
from pool.wire.ollama import encode_message
from pool.wire.reading import Ending
from pool.wire.retry import RetryPolicy
from tests.wire.ollama_server import (
    ANSWER,
    MODEL,
    WINDOW_TOKENS,
    Json,
    OllamaServer,
    call,
    last,
    line,
    overflow,
    refuses,
    says,
)


async def work(server: OllamaServer, workspace: Path, **changes: Any) -> tuple[RunFinished, list[Body]]:
    """Run one prompt; the end, and the bodies of all events."""
    given: Json = {"base_url": server.address, "mode": Mode.ALLOW_ALL, "sandbox": SandboxChoice.OFF, **changes}
    events: list[Body] = []
    async with open_session(Settings(workspace, **given), NobodyThere()) as session:
        subscription = session.hub.subscribe()
        finished = await session.agent.run("Do it.", "run")
        session.hub.close()
        async for event in subscription:
            events.append(event.body)
    return finished, events


def notices(events: Sequence[Body]) -> str:
    return " | ".join(f"{b.level}: {b.text} ({b.remedy})" for b in events if isinstance(b, Notice))


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pool.agent.server.RetryPolicy", partial(RetryPolicy, base_seconds=0.02, cap_seconds=0.1))


async def test_a_run_with_a_call_is_native_both_ways(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("grüße\n")
    calls = [call("read", "call_a1", path="note.txt")]
    first = says(line(thinking="I should "), line(thinking="look."), line(tool_calls=calls), last(prompt=2000))
    async with OllamaServer(first, ANSWER) as server:
        finished, events = await work(server, tmp_path, window=WINDOW_TOKENS)
    assert (finished.reason, finished.answer) == (StopReason.COMPLETED, "All well.")
    assert all(path.startswith(("GET /api/", "POST /api/chat")) for path in server.paths)

    opening, second = server.bodies
    assert (opening["model"], opening["think"], opening["stream"]) == (MODEL, True, True)
    assert (opening["truncate"], opening["shift"]) == (False, False)
    assert [t["function"]["name"] for t in opening["tools"]] == [t["function"]["name"] for t in second["tools"]]
    assert opening["options"] == {
        "num_ctx": WINDOW_TOKENS,
        "temperature": 0.7,
        "top_p": 0.95,
        "top_k": 20,
        "num_predict": Budgets().answer_tokens + Budgets().reasoning_first_turn,
    }
    foreign = {"max_tokens", "temperature", "stream_options", "chat_template_kwargs", "reasoning_effort", "tool_choice"}
    assert not foreign & set(opening)

    asked, result = second["messages"][2:]
    assert asked == {
        "role": "assistant",
        "content": "",
        "thinking": "I should look.",
        "tool_calls": [{"id": "call_a1", "function": {"name": "read", "arguments": {"path": "note.txt"}}}],
    }
    assert {name: result[name] for name in ("role", "tool_name", "tool_call_id")} == {
        "role": "tool",
        "tool_name": "read",
        "tool_call_id": "call_a1",
    }
    assert "grüße" in result["content"]
    assert server.raw[1].startswith(server.raw[0].split(b',"options":')[0]), "the head keeps its bytes"
    stored = [encode_message(m).data for m in (system(opening["messages"][0]["content"]), user("Do it."))]
    assert b",".join(stored) in server.raw[1]
    assert [t.repairs for t in events if isinstance(t, TurnFinished)] == [(), ()], "objects are nothing to mend here"
    usages = [b.usage for b in events if isinstance(b, UsageReported)]
    assert [(u.prompt, u.completion, u.estimated) for u in usages] == [(2000, 20, False), (900, 20, False)]


async def test_calls_without_ids_in_one_line_are_told_apart(tmp_path: Path) -> None:
    """Before 0.12.10 calls have no id, and every call has index 0."""
    for name in "ab":
        (tmp_path / name).write_text(f"text of {name}\n")
    both = line(tool_calls=[call("read", path="a"), call("read", path="b")])
    async with OllamaServer(says(both, last(tool_calls=[call("list")])), ANSWER) as server:
        await work(server, tmp_path)
    asked, *results = server.bodies[1]["messages"][2:]
    ids = [c["id"] for c in asked["tool_calls"]]
    assert [c["function"]["name"] for c in asked["tool_calls"]] == ["read", "read", "list"]
    assert len(set(ids)) == 3
    assert [r["tool_name"] for r in results] == ["read", "read", "list"]
    assert [r["tool_call_id"] for r in results] == ids
    assert "text of a" in results[0]["content"]
    assert "text of b" in results[1]["content"]


async def test_thinking_can_be_switched_off_and_the_window_left_to_the_server(tmp_path: Path) -> None:
    """Without POOL_CONTEXT_LENGTH no window is asked for: its size is memory. It is known once the model is loaded."""
    small = 8000
    step = says(line(tool_calls=[call("shell", "c1", command="sleep 0.3")]), last())
    async with OllamaServer(step, ANSWER, window=small) as server:
        _, events = await work(server, tmp_path, thinking=False)
    assert server.bodies[0]["think"] is False
    assert "num_ctx" not in server.bodies[0]["options"]
    first, second = [b.max_tokens for b in events if isinstance(b, TurnStarted)]
    assert first == Budgets().answer_tokens + Budgets().reasoning_first_turn
    assert second < small
    assert "8,000 tokens is small" in notices(events)
    assert "POOL_CONTEXT_LENGTH" in notices(events)
    assert server.paths.count("GET /api/ps") == 2


@pytest.mark.usefixtures("quick_retries")
async def test_what_is_broken_is_asked_for_again(tmp_path: Path) -> None:
    """A load without a reply, an error in the middle, an end without `done`: none of them is an answer."""
    async with OllamaServer(
        says(last("load", prompt=0, written=0)),
        says(line(content="Wor"), b'{"error":"an error was encountered while running the model: CUDA error"}\n'),
        says(line(content="Work")),
        ANSWER,
    ) as server:
        finished, events = await work(server, tmp_path)
    assert (finished.reason, finished.answer, len(server.bodies)) == (StopReason.COMPLETED, "All well.", 4)
    assert server.raw[0] == server.raw[3]
    assert len([b for b in events if isinstance(b, TurnFinished)]) == 1


async def test_a_call_that_the_limit_may_have_cut_is_not_run(tmp_path: Path) -> None:
    cut = says(last("length", tool_calls=[call("write", "c1", path="x.txt", content="half")]))
    async with OllamaServer(cut, ANSWER) as server:
        _, events = await work(server, tmp_path)
    assert not (tmp_path / "x.txt").exists()
    assert next(b.ending for b in events if isinstance(b, TurnFinished)) == Ending.LENGTH.value


async def test_a_window_that_the_server_names_is_kept_to(tmp_path: Path) -> None:
    async with OllamaServer(refuses(400, overflow(7412, 16384)), ANSWER) as server:
        finished, _ = await work(server, tmp_path, window=WINDOW_TOKENS)
    assert finished.reason is StopReason.COMPLETED
    assert server.bodies[1]["options"]["num_predict"] < 16384 - 7412


async def test_a_prompt_that_cannot_fit_ends_the_run_with_the_remedy(tmp_path: Path) -> None:
    async with OllamaServer(refuses(400, overflow(7412, 4096))) as server:
        finished, events = await work(server, tmp_path)
    assert finished.reason is StopReason.CONTEXT_EXHAUSTED
    assert "4,096" in notices(events)
    assert "POOL_CONTEXT_LENGTH" in notices(events)


async def test_compacting_keeps_the_native_form(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {n} of a longer file\n" for n in range(400)))
    look = says(last(prompt=5000, tool_calls=[call("read", "c1", path="long.txt")]))
    account = says(line(content="The file was read."), last())
    async with OllamaServer(look, refuses(400, overflow(17_412, 16_384)), account, ANSWER) as server:
        finished, _ = await work(server, tmp_path)
    assert (finished.reason, finished.answer) == (StopReason.COMPLETED, "All well.")
    result = server.bodies[2]["messages"][3]
    assert (result["role"], result["tool_name"]) == ("tool", "read")
    assert len(result["content"]) < 2500, "cut, since as it was it did not fit"
    assert "The file was read." in server.bodies[3]["messages"][1]["content"]


async def test_a_count_without_what_was_cached_is_no_cut_prompt(tmp_path: Path) -> None:
    """Ollama 0.30.0 counts only the tokens that it computed."""
    (tmp_path / "long.txt").write_text("".join(f"line {n} of a longer file\n" for n in range(400)))
    look = says(last(prompt=5000, tool_calls=[call("read", "c1", path="long.txt")]))
    again = says(last(prompt=40, tool_calls=[call("list", "c2")]))
    async with OllamaServer(look, again, says(line(content="Ok."), last(prompt=30))) as server:
        _, events = await work(server, tmp_path, window=WINDOW_TOKENS)
    assert "cut off" not in notices(events)
    usages = [b.usage for b in events if isinstance(b, UsageReported)]
    assert [u.estimated for u in usages] == [False, True, True]
    assert usages[2].prompt > usages[1].prompt > 5000
