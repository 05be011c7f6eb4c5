"""A thought that runs away in the simulator is cut, and the next reply holds an action, whatever the server can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pool.events import GuardFired, StopReason
from pool.sim.process import running
from pool.sim.settings import DEFAULT_MODEL, SimSettings
from tests.cases.driver import Json, Run, driving

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


async def test_where_nothing_is_known_of_the_server_thinking_is_off_once(tmp_path: Path) -> None:
    run, seen = await run_away(tmp_path, "runaway-thought@1", model=DEFAULT_MODEL)
    assert (run.reason, run.calls) == (StopReason.COMPLETED, [("read", "ok")])
    assert [body["chat_template_kwargs"]["enable_thinking"] for body in seen] == [True, False, True]


async def test_a_thought_that_runs_away_again_ends_the_run(tmp_path: Path) -> None:
    """The simulator's phrase goes on in the content once the thought is closed; that is cut by the server."""
    run, seen = await run_away(tmp_path, "runaway-thought")
    assert run.reason in (StopReason.OVERTHINKING, StopReason.MAX_TOKENS, StopReason.LOOP)
    assert len(seen) <= 6
    assert any(g.action == "cut" for g in run.of(GuardFired))
