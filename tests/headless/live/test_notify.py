"""`--notify CMD`: the user's command, with facts in its environment and nothing of a model's in its words."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pool.events import Envelope, Event, QuestionAsked
from pool.headless.live.notify import MOST_CHARS, facts_of, run_command
from pool.sessions.store import sessions_folder
from pool.sim.process import running
from pool.sim.settings import SimSettings


def test_a_plain_run_notifies_at_its_end_and_its_log_says_that_the_command_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    told = tmp_path / "told"
    notify = f'echo "$POOL_EVENT $POOL_REASON $POOL_EXIT_CODE $POOL_WORKSPACE" >{told}; exit 3'
    with running(SimSettings(port=0)) as sim:
        line = [sys.executable, "-m", "pool", "run", "--base-url", sim.url, "--sandbox", "off", "--mode", "allow-all"]
        line += ["--notify", notify, "Hello"]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    assert told.read_text() == f"finished completed 0 {tmp_path}\n"
    (log,) = sessions_folder().glob("*.jsonl")
    assert "--notify: the command failed with exit status 3" in log.read_text()


def test_what_a_model_asks_is_one_short_line_in_a_variable() -> None:
    body = QuestionAsked("q", "$(touch x)\n\x1b[31m" + "y" * 1_000)
    facts = facts_of(Event(Envelope("s", "r", 1, 1, 0.0, 0.0), body), "/w")
    assert facts["POOL_ASKED"].startswith("$(touch x)\\n\\x1b")
    assert len(facts["POOL_ASKED"]) == MOST_CHARS


def test_a_command_never_outlives_its_limit_nor_does_what_it_started(tmp_path: Path) -> None:
    began = time.monotonic()
    pid = tmp_path / "pid"
    said = asyncio.run(run_command(f"sleep 60 & echo $! >{pid}; wait", {}, limit=1.0))
    assert "killed" in said
    while lives(int(pid.read_text())):
        assert time.monotonic() - began < 30
        time.sleep(0.01)
    assert asyncio.run(run_command("exit 3", {})) == "failed with exit status 3"
    assert asyncio.run(run_command("test $POOL_EVENT = asked", {"POOL_EVENT": "asked"})) == ""


def lives(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
