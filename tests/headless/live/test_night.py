"""A night at a scale: a task of hours before a server that dies twice, with one hang-up, worked in some seconds."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pool.agent.digest import result_of, runs_of
from pool.facekit.live.finding import by_id
from pool.facekit.live.place import LiveRecord, live_records
from pool.sessions.log import read_rows
from pool.sessions.store import sessions_folder

NIGHT_SECONDS = 28_800
SCALE = 1_500
"""One second of the test is 25 minutes of the night, which has 19 s. A server takes ten minutes to come back."""

RESTART_SECONDS = 600
PATIENCE_SECONDS = 15
"""What stands for the profile's half an hour: a simulated server needs a second to start, at any scale."""

RATE = 400
"""Tokens a second, so that the task takes a good part of the night's time."""

INTO_A_REPLY = 30
"""Tokens of a reply after which its server dies."""

LIMIT_SECONDS = 40
EXAMPLE = Path(__file__).parents[3] / "examples" / "inventory"


class Server:
    """A simulated server that can die and come back at the same address."""

    def __init__(self) -> None:
        self._process = self._started(0)
        self.port = int(self.url.rpartition(":")[2])

    def _started(self, port: int) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", "pool.sim", "--port", str(port), "--rate", str(RATE)]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        self.url = process.stdout.readline().strip()
        return process

    def die(self) -> None:
        """As an engine does that runs out of memory: at once, in the middle of a reply."""
        self._process.kill()
        self._process.communicate()

    def restart(self) -> None:
        self._process = self._started(self.port)


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True, text=True).stdout


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def rows(record: LiveRecord) -> list[dict[str, Any]]:
    return read_rows((sessions_folder() / f"{record.session}.jsonl").read_bytes())[0]


@pytest.mark.slow
def test_a_night_with_two_server_deaths_and_a_hang_up_ends_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work, told = tmp_path / "work", tmp_path / "told"
    shutil.copytree(EXAMPLE, work, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    git(work, "init", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-qm", "First")
    server = Server()
    line = [sys.executable, "-m", "pool", "run", "--profile", "night", "--detach", "--sandbox", "off"]
    line += ["--mode", "allow-all", "--base-url", server.url, "--wait-server", str(PATIENCE_SECONDS)]
    line += ["--max-seconds", str(NIGHT_SECONDS / SCALE), "--notify", f'echo "$POOL_EVENT $POOL_REASON" >>{told}']
    try:
        line += ["make the failing tests pass"]
        done = subprocess.run(line, cwd=work, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        assert done.returncode == 0, done.stderr
        record = by_id(done.stdout.strip())
        assert "branch pool/make-the-failing-tests-pass" in done.stderr

        for turn in (2, 4):
            until(lambda turn=turn: any(r["type"] == "turn.started" and r["turn"] == turn for r in rows(record)))
            time.sleep(INTO_A_REPLY / RATE)
            server.die()
            if turn == 2:
                os.kill(record.pid, signal.SIGHUP)
            time.sleep(RESTART_SECONDS / SCALE)
            server.restart()
        until(lambda: not live_records())
    finally:
        server.die()

    (run,) = runs_of(rows(record))
    result = result_of(run)
    assert (result.reason, result.exit_code, result.tests.edited_since) == ("completed", 0, False)
    assert result.tests.runs[-1].passed
    assert result.time.waiting > 0
    waited = sum(turn.waited_seconds > 0 for turn in result.per_turn)
    assert waited == 2, "each death cost one wait"
    assert told.read_text() == "finished completed\n"

    report = subprocess.run(
        [sys.executable, "-m", "pool", "report", record.session], capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    assert report.returncode == 0, report.stderr
    assert "make the failing tests pass" in report.stdout
    assert all(change.path in report.stdout for change in result.changes)

    # The user's own checkout is as it was; the night's work lies beside it.
    assert git(work, "status", "--porcelain") == ""
    tree = tmp_path / "work.worktrees" / "pool-make-the-failing-tests-pass"
    assert record.workspace == str(tree)
    changed = re.findall(r"^ M (\S+)$", git(tree, "status", "--porcelain"), re.MULTILINE)
    assert sorted(changed) == sorted(change.path for change in result.changes)


def test_the_night_works_in_place_where_that_is_asked_or_there_is_no_repository(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "pool", "run", "--profile", "night", "--base-url", "http://127.0.0.1:9"]
    line += ["--wait-server", "0", "--sandbox", "off", "--mode", "allow-all", "x"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 75
    assert "works in the folder itself" in done.stderr
