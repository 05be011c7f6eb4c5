"""`pool batch --engine ray` with a real Ray on this machine: two workers, one of them killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pool.headless.batch.rayengine import resource_of
from pool.sessions.log import read_rows
from pool.sim.process import running
from pool.sim.settings import SimSettings

LIMIT_SECONDS = 55


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def processes(*words: str) -> list[int]:
    """Processes whose command lines have all these words in them."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if all(word in line for word in words):
            found.append(int(path.parent.name))
    return found


def runs_in(folder: Path) -> list[int]:
    """Processes of `pool run` in a folder."""
    return processes("pool run", f"--dir={folder}")


def test_a_servers_places_have_its_address_and_no_secret() -> None:
    assert resource_of("http://gpu1:8000/v1") == "pool:gpu1:8000"
    assert resource_of("https://me:secret@host/v1") == "pool:host"
    assert resource_of("") == "pool:any"


@pytest.mark.slow
def test_a_killed_worker_loses_its_attempt_and_the_task_is_worked_again(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra 'ray' is not installed")
    for name in "ab":
        (tmp_path / name).mkdir()
    path, out = tmp_path / "tasks.jsonl", tmp_path / "tasks.results.jsonl"
    task = {"prompt": "What are you?", "sandbox": "off", "mode": "allow-all"}
    path.write_text("".join(json.dumps({**task, "id": name, "dir": name}) + "\n" for name in "ab"))
    folders = tmp_path / "tasks.results.folders"

    def rows() -> list[dict[str, Any]]:
        return read_rows(out.read_bytes())[0] if out.exists() else []

    # The first two replies wait until both runs are there, however long a busy machine takes to start the second.
    with running(SimSettings(port=0, faults=("silent:15@1-2",))) as sim:
        line = [sys.executable, "-m", "pool", "batch", str(path), "--engine", "ray", "--jobs", "2"]
        batch = subprocess.Popen([*line, "--server", sim.url], stderr=subprocess.PIPE, text=True)
        until(lambda: bool(runs_in(folders / "a")) and bool(runs_in(folders / "b")) and len(sim.seen) == 2)
        (run,) = runs_in(folders / "a")
        worker, other = parent_of(run), parent_of(runs_in(folders / "b")[0])
        assert worker != other
        os.kill(worker, signal.SIGKILL)
        until(lambda: run not in runs_in(folders / "a"))
        _, said = batch.communicate(timeout=LIMIT_SECONDS)
    assert batch.returncode == 0, said
    ends = {row["id"]: (row["attempt"], row["reason"]) for row in rows() if row["type"] == "task.finished"}
    assert ends == {"a": (2, "completed"), "b": (1, "completed")}
    workers = {row["id"]: row["worked_by"] for row in rows() if row["type"] == "task.finished"}
    assert f"worker {worker}" not in workers["a"]
    assert workers["b"].endswith(f"worker {other}")
