"""A thought that runs away in the simulator is cut, and the next reply holds an action, whatever the server can do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pool.agent import server
from pool.config.settings import Budgets
from pool.events import GuardFired, ReasoningDelta, StopReason
from pool.sim.process import running
from pool.sim.settings import DEFAULT_MODEL, SimSettings
from tests.cases.driver import Json, Run, answer, delta, driving, finish, say
from tests.wire.scripted import Exchange, ScriptedServer

WORDS = "mill church bridge market school harbour wood station tower field".split()
PROMPT = "What does notes.txt say?"


async def run_away(workspace: Path, *faults: str, **changes: Any) -> tuple[Run, list[Json]]:
    (workspace / "notes.txt").write_text("alpha\nbeta\n")
    with running(SimSettings(faults=faults)) as sim:
        async with driving(sim.url, workspace, **{"model": "", **changes}) as driver:
            run = await driver.run(PROMPT)
        return run, sim.seen


@pytest.mark.parametrize("phrase", ["", ":Let me think about this once more. ", ":計画を見直す。"])
async def test_the_turn_goes_on_with_a_call(phrase: str, tmp_path: Path) -> None:
    """Closed by hand: the same turn acts, and thinking stays as it was."""
    run, seen = await run_away(tmp_path, f"runaway-thought{phrase}@1")
    assert (run.reason, run.calls) == (StopReason.COMPLETED, [("read", "ok")])
    assert [bool(body.get("continue_final_message")) for body in seen] == [False, True, False]
    assert all(body["chat_template_kwargs"]["enable_thinking"] for body in seen)
    kept = seen[1]["messages"][-1]["reasoning"]
    assert len(kept) < 600
    assert "thought-closed" in run.repairs


async def test_a_first_thought_that_no_count_came_with_is_ended_by_one_reply_without_thinking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the model named, the first request need not wait for what the server is: no counts are asked for then."""

    async def unanswered(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(server, "probe", unanswered)
    run, seen = await run_away(tmp_path, "runaway-thought@1", model=DEFAULT_MODEL)
    assert (run.reason, run.calls) == (StopReason.COMPLETED, [("read", "ok")])
    assert "continuous_usage_stats" not in seen[0]["stream_options"]
    assert not any("continue_final_message" in body for body in seen)
    assert [body["chat_template_kwargs"]["enable_thinking"] for body in seen] == [True, False, True]


async def test_where_no_turn_can_be_continued_thinking_is_off_once_and_the_price_is_told(tmp_path: Path) -> None:
    async def unknown(exchange: Exchange) -> None:
        if exchange.method == "GET":
            await exchange.reply_json({"detail": "Not Found"}, 404)
            return
        thinks = json.loads(exchange.body)["chat_template_kwargs"]["enable_thinking"]
        bodies.append(thinks)
        runaway = say(*[delta(reasoning="wait, check again. ")] * 2000, finish("stop"))
        await (runaway if thinks else answer("So it is."))(exchange)

    bodies: list[bool] = []
    async with ScriptedServer(unknown) as scripted, driving(scripted.url, tmp_path) as driver:
        run = await driver.run()
    assert (run.answer, bodies) == ("So it is.", [True, False])
    (nudge,) = [g for g in run.of(GuardFired) if g.action == "nudge"]
    assert "tokens have to be read again" in nudge.cost


async def test_a_thought_is_cut_within_a_tenth_of_its_limit_and_within_a_second(tmp_path: Path) -> None:
    """At 400 tokens a second, timed from the thought's first token to the cut."""
    limit, rate = 400, 400.0
    budgets = Budgets(reasoning_first_turn=limit, reasoning_turn=limit)
    ways = " ".join(f"Way {i} leads past the {WORDS[i % len(WORDS)]} and back by {i * 7 % 31}." for i in range(200))
    with running(SimSettings(rate=rate, faults=(f"runaway-thought:{ways}@1",))) as sim:
        async with driving(sim.url, tmp_path, model="", budgets=budgets) as driver:
            working = asyncio.ensure_future(driver.run(PROMPT))
            began = await driver.until_body(ReasoningDelta)
            cut = await driver.until_body(GuardFired, "'cut'")
            run = await working
    assert run.reason is StopReason.COMPLETED
    assert "limit of 400 tokens" in repr(cut.body)
    assert cut.envelope.mono - began.envelope.mono <= limit * 1.1 / rate + 1.0


async def test_a_thought_that_runs_away_again_ends_the_run(tmp_path: Path) -> None:
    """The simulator's phrase goes on in the content once the thought is closed; that is cut by the server."""
    run, seen = await run_away(tmp_path, "runaway-thought")
    assert run.reason in (StopReason.OVERTHINKING, StopReason.MAX_TOKENS, StopReason.LOOP)
    assert len(seen) <= 6
    assert any(g.action == "cut" for g in run.of(GuardFired))
