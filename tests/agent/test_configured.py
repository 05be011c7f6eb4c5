"""Settings from files reach what they are about: the request, the guards, the compaction."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from pool.agent.configured import settings_for
from pool.agent.guards.calls import ProgressGuard
from pool.agent.guards.signals import ThoughtSignals
from pool.agent.limits import Limits
from pool.agent.state import RunState, Stop
from pool.config.guards import GuardSettings, SignalLimits
from pool.config.settings import Budgets, SamplingSettings, SessionBudgets, SettingsError
from pool.events import StopReason
from pool.sessions.totals import Totals
from tests.cases.driver import answer as answer_step
from tests.cases.driver import call, play


async def test_sampling_is_sent_as_set(tmp_path: Path) -> None:
    sampling = SamplingSettings(temperature=None, top_p=0.5, top_k=None, extra=(("min_p", 0.1),))
    _, bodies = await play(tmp_path, answer_step("Done."), sampling=sampling)
    body = bodies[0]
    assert (body["top_p"], body["min_p"]) == (0.5, 0.1)
    assert "temperature" not in body
    assert "top_k" not in body


async def test_unknown_tools_end_a_run_after_as_many_calls_as_set(tmp_path: Path) -> None:
    steps = [call("frobnicate", f"c{i}") for i in range(4)]
    run, bodies = await play(tmp_path, *steps, guards=GuardSettings(unknown_tools=2))
    assert (run.finished.reason, len(bodies)) == (StopReason.UNUSABLE_REPLY, 2)


def idle_for(seconds: float, limit: float) -> Stop | None:
    """What the guard says before a turn if nothing has moved for so long."""
    run = RunState("x")
    run.started = time.monotonic() - seconds
    limits = Limits(replace(Budgets(), idle_stop_seconds=limit), SessionBudgets(), Totals())
    verdict = ProgressGuard(limits, 5).before_turn(run)
    assert verdict is None or isinstance(verdict, Stop)
    return verdict


def test_seconds_without_progress_end_a_run() -> None:
    stop = idle_for(1_801, 1_800)
    assert stop is not None
    assert stop.reason is StopReason.NO_PROGRESS
    assert idle_for(1_700, 1_800) is None
    assert idle_for(1_000_000, 0) is None


def test_signals_are_as_set() -> None:
    text = "wait, check again " * 800
    off = SignalLimits(zlib_ratio=0, unique_line_share=0, phrase_repeats=0, near_same=0)
    watch = ThoughtSignals(GuardSettings())
    assert any(watch.feed(text) for _ in range(5))
    watch = ThoughtSignals(GuardSettings(signals=off, restarts=0, same_sentence=0))
    assert [watch.feed(text) for _ in range(5)] == [None] * 5


def test_a_rule_that_cannot_be_read_is_named_with_its_flag(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^--deny: the rule 'shell\(a;b\)'"):
        settings_for(tmp_path, {"XDG_CONFIG_HOME": "/nowhere"}, {"approvals.deny": ["shell(a;b)"]})
