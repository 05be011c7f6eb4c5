"""What the suites' tests share: the tasks' folders, solutions carried out, and one process that judges."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab.eval.suites import judge_many

SUITES = judge_many.COPIED.parent / "suites"
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".pytest_cache")


@dataclass
class Judge:
    """The process of `judge_many`; it is asked one job at a time."""

    process: subprocess.Popen[str]

    def ask(self, **job: Path) -> Any:
        """Do a job."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job, default=str) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@dataclass
class Attempt:
    """A copy of a task's tree, and the folder of what was said."""

    task: Path
    app: Path
    logs: Path

    def solve(self, kind: str) -> None:
        """Carry the task's own solution or naive attempt out."""
        env = {**os.environ, "LOGS_DIR": str(self.logs)}
        subprocess.run(["sh", str(self.task / kind / "solve.sh")], cwd=self.app, env=env, check=True, timeout=30)


Attempting = Callable[[str], Attempt]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """The judge of trees, in a process of its own that every test of a file shares."""
    command = [sys.executable, "-I", "-B", str(Path(judge_many.__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Judge(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def attempt(tmp_path: Path) -> Attempting:
    """Copies of tasks' trees, by `suite/task`."""

    def copied(name: str) -> Attempt:
        task, here = SUITES / name, tmp_path / name
        app = task / "environment" / "app"
        if app.is_dir():
            shutil.copytree(app, here / "app", ignore=LEFT_OUT)
        else:
            (here / "app").mkdir(parents=True)
        (here / "logs").mkdir()
        return Attempt(task, here / "app", here / "logs")

    return copied
