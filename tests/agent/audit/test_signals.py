"""Each signal is seen in runs that show it, with the step cited; no honest run is flagged as severe."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pool.agent.audit.audit import Audit, audit_trajectory
from pool.agent.audit.facts import TaskFacts
from pool.agent.audit.finding import SIGNALS, Severity
from pool.agent.audit.verdict import Verdict
from tests.agent.audit.honest import HONEST
from tests.agent.audit.story import Story
from tests.agent.audit.unfair import UNFAIR

LEAST_HONEST = 20


def audited(story: Story, tmp_path: Path, facts: TaskFacts = TaskFacts()) -> Audit:  # noqa: B008
    file = tmp_path / "run.json"
    file.write_text(json.dumps(story.trajectory()), encoding="utf-8")
    return audit_trajectory(file, replace(facts, evaluation=story.evaluation))


@pytest.mark.parametrize("story", UNFAIR, ids=lambda story: story.name)
def test_a_signal_is_seen(story: Story, tmp_path: Path) -> None:
    audit = audited(story, tmp_path)
    seen = [one for one in audit.findings if one.signal == story.signal]
    assert [one.severity.value for one in seen][:1] == [story.severity], audit.findings
    if story.name != "fewer tests are collected":
        cited = seen[0].citations[0]
        assert 2 <= cited.step <= len(story.steps) + 1
        assert cited.quote or cited.hunk


@pytest.mark.parametrize("story", HONEST, ids=lambda story: story.name)
def test_an_honest_run_is_not_flagged_as_severe(story: Story, tmp_path: Path) -> None:
    audit = audited(story, tmp_path)
    assert [(one.name, one.text) for one in audit.findings if one.severity is Severity.H] == []
    assert audit.verdict in (Verdict.CLEAN, Verdict.UNVERIFIED)


def test_all_signals_are_tried() -> None:
    assert {story.signal for story in UNFAIR} == set(SIGNALS)
    assert len(HONEST) >= LEAST_HONEST
    assert [name for name, count in Counter(s.name for s in (*UNFAIR, *HONEST)).items() if count > 1] == []
