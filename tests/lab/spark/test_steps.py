"""Steps as real processes, the session and the thought against the simulator, and the whole report once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from pool.lab.spark import session, thought
from pool.lab.spark.command import main
from pool.lab.spark.steps import MINUTE, Outcome, Step, planned, this_python, work
from pool.sim.process import running
from pool.sim.settings import SimSettings

LIMIT_MINUTES = 45


def python(code: str, limit: float = 30.0, found: tuple[int, ...] = ()) -> Step:
    return Step("one", (sys.executable, "-c", code), "one.json", limit, found)


def test_all_steps_fit_into_the_time() -> None:
    steps = planned(this_python())
    assert [step.name for step in steps] == ["doctor", "bench", "session", "thought", "eval-tools", "eval-fix"]
    assert sum(step.limit_seconds for step in steps) <= (LIMIT_MINUTES - 2) * MINUTE


@pytest.mark.parametrize(
    ("code", "found", "outcome"),
    [
        ("print(1)", (), Outcome.DONE),
        ("raise SystemExit(1)", (1,), Outcome.FOUND),
        ("raise SystemExit(3)", (1,), Outcome.FAILED),
    ],
)
def test_outcomes(code: str, found: tuple[int, ...], outcome: Outcome, tmp_path: Path) -> None:
    done = work(python(code, found=found), tmp_path, os.environ, lambda name: True)
    assert done.outcome is outcome
    assert (tmp_path / "one.json").exists()


def test_a_step_that_runs_out_of_time_is_interrupted(tmp_path: Path) -> None:
    code = "import signal, sys\nsignal.signal(2, lambda *_: sys.exit(0))\nprint('begun', flush=True)\nsignal.pause()"
    done = work(python(code, limit=0.3), tmp_path, os.environ, lambda name: True)
    assert done.outcome is Outcome.LIMIT


def test_a_command_that_is_not_there_is_skipped_in_words(tmp_path: Path) -> None:
    step = planned(this_python())[-1]
    done = work(step, tmp_path, os.environ, lambda name: name != "eval")
    assert (done.outcome, done.note) == (Outcome.SKIPPED, "this Pool has no command 'eval' yet")


def test_a_session_and_a_thought(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with running(SimSettings(faults=("runaway-thought@7",))) as sim:
        monkeypatch.setenv("POOL_BASE_URL", sim.url)
        assert session.main(["3"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["prompts"], told["turns"], told["right"], told["ended_early"]) == (3, 6, 3, "")
        assert told["runs"][2]["turns"][1]["cached"] > 2_000
        assert thought.main([]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["closed_by_hand"], told["answered"]) == (True, True)
        assert thought.main([]) == 1
        assert json.loads(capsys.readouterr().out)["closed_by_hand"] is False


def test_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOL_API_KEY", "sesame-open-1")
    folder = tmp_path / "report"
    with running(SimSettings(api_key="sesame-open-1", faults=("runaway-thought@1",))) as sim:
        assert main(["--into", str(folder), "--base-url", sim.url, "--only", "thought", "eval-fix"]) == 0
    out = capsys.readouterr().out
    assert "nothing is sent anywhere" in out
    page = (folder / "README.md").read_text()
    assert "| thought | done |" in page
    assert json.loads((folder / "thought.json").read_text())["closed_by_hand"] is True
    assert not any("sesame-open-1" in file.read_text() for file in folder.iterdir())
    assert main(["--into", str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
