"""Check the agent with the real Harbor: a task of Pool's own, worked by the simulator, in bubblewrap, without Docker.

    python3.12 -m venv harbor && harbor/bin/pip install harbor
    harbor/bin/python check.py .venv/bin/pool                       the pool that is installed
    harbor/bin/python check.py .venv/bin/pool --wheel dist/X.whl    installs the wheel as in a container

Harbor's own classes load the task, run the agent and the verifier, and read the trajectory. Exit code 0: all is well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harbor.models.task.task import Task
from harbor.models.trajectories import Trajectory

HERE = Path(__file__).resolve().parent
TASK = HERE.parents[1] / "pool" / "lab" / "eval" / "suites" / "fix" / "inventory"
MODEL = "laguna-sim-rule-based"
SECONDS = 300


@contextmanager
def simulator(pool: str) -> Generator[str]:
    """The address of a simulated model server."""
    process = subprocess.Popen([pool, "sim", "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield next(word for word in process.stdout.readline().split() if word.startswith("http")).rstrip(".,")
    finally:
        process.terminate()
        process.wait()


def worked(task: Path, server: str, jobs: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The result of one trial, as Harbor keeps it."""
    kwargs = ["--ak", f"wheel={Path(given.wheel).resolve()}"] if given.wheel else ["--ak", "skip_install=true"]
    command = [
        str(Path(sys.executable).with_name("harbor")),
        "run",
        "-p",
        str(task),
        "-a",
        "pool_agent:Pool",
        "-y",
        "-q",
    ]
    command += ["--env", "environment:Bubblewrap", "-o", str(jobs), "-m", MODEL, "--base-url", server, *kwargs]
    path = os.pathsep.join((str(Path(given.pool).resolve().parent), os.environ["PATH"]))
    own = {"PYTHONPATH": str(HERE), "CHECK_PATH": path, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    own["CHECK_SHOWN"] = os.pathsep.join(homely(given))
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, timeout=SECONDS)
    (result,) = [*jobs.glob("*/*/result.json")] or [None]
    if result is None:
        raise SystemExit(f"Harbor began no trial:\n{done.stdout}{done.stderr}")
    return {**json.loads(result.read_text()), "folder": result.parent}


def homely(given: argparse.Namespace) -> list[str]:
    """Folders below the home and /tmp that programs need: the trial has a home of its own."""
    pool = Path(given.pool).resolve()
    python = subprocess.run([pool.parent / "python", "-c", "import sys; print(sys.base_prefix)"], capture_output=True)
    found = [*given.show, str(pool.parent.parent), str(HERE.parents[1]), python.stdout.decode().strip()]
    return [path for path in dict.fromkeys(found) if path.startswith(("/root/", "/tmp/"))]


def faults(result: dict[str, Any]) -> list[str]:
    """What is wrong with a trial, a line each."""
    if result["exception_info"]:
        return [f"the trial failed: {result['exception_info']['exception_message']}"]
    logs, found = result["folder"] / "agent", list[str]()
    trajectory = Trajectory.model_validate_json((logs / "trajectory.json").read_text())
    answer = (logs / "answer.txt").read_text().strip()
    spoken = [step.message for step in trajectory.steps if step.source == "agent" and step.message]
    if not spoken or answer != str(spoken[-1]).strip():
        found.append(f"answer.txt is not the trajectory's last message: {answer!r}")
    if result["agent_result"]["n_input_tokens"] != trajectory.final_metrics.total_prompt_tokens:
        found.append("the tokens that Harbor keeps are not those of the trajectory")
    if (reward := result["verifier_result"]["rewards"]["reward"]) != 1:
        found.append(f"the simulator solves this task, and its reward is {reward}")
    return found


def main() -> int:
    p = argparse.ArgumentParser(description="Check the agent for Harbor with the real Harbor.")
    p.add_argument("pool", help="the program pool")
    p.add_argument("--wheel", default="", help="install this wheel as in a container")
    p.add_argument("--task", type=Path, default=TASK, help="a folder in Harbor's layout (default: one of Pool's own)")
    p.add_argument("--show", action="append", default=[], help="a folder below the home or /tmp that programs need")
    given = p.parse_args()
    Task(given.task)
    with tempfile.TemporaryDirectory() as folder, simulator(given.pool) as server:
        result = worked(given.task, server, Path(folder), given)
        found = faults(result)
    for fault in found:
        print(fault)
    print(f"{given.task.name}: {'not as it should be' if found else 'worked, judged, and its trajectory is ATIF'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
