"""What a task, or the program that is judged, can do to an evaluation."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from pool.lab.eval.judging import Judgement, judge
from pool.lab.eval.row import Row
from pool.lab.eval.running import RESULTS, Running, read_rows
from pool.lab.eval.suites import suite_named
from pool.lab.eval.task import Task, read_task
from pool.lab.eval.worker import _copied, _diff  # pyright: ignore[reportPrivateUsage] what it does to a tree
from tests.needs import bubblewrap

DETACHED = """
import glob, os, time
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for place in glob.glob(BESIDE):
            try:
                with open(place + ".new", "w") as file:
                    file.write('{"pass": 1, "held_out": 1, "reward": 1}')
                os.replace(place + ".new", place)
            except OSError:
                pass
    os._exit(0)
"""


def task_of(folder: Path, script: str) -> Task:
    """A task whose verifier is a line of shell; $OUT is where it writes."""
    (folder / "environment" / "app").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "task.toml").write_text("[verifier]\ntimeout_sec = 1\n")
    (folder / "instruction.md").write_text("Do.")
    (folder / "tests" / "test.sh").write_text(f'OUT="$LOGS_DIR/verifier"\n{script}\n')
    return read_task(folder)


def judged(task: Task, scratch: Path) -> Judgement:
    """What a task's verifier says of its tree as it is given."""
    app, logs = scratch / "app", scratch / "logs"
    if not app.exists():
        shutil.copytree(task.app, app)
    (logs / "agent").mkdir(parents=True)
    return asyncio.run(judge(task, app, logs))


@bubblewrap
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo no pytest >&2; exit 3", "it cannot be judged here: no pytest"),
        ("true", "the verifier left no reward.json (exit 0)"),
        ("sleep 60", "the verifier took longer than 1 s"),
        ("echo '{\"reward\": NaN}' > $OUT/reward.json", "reward: each has to be a number from 0 to 1"),
        ("echo '{\"reward\": 1e999}' > $OUT/reward.json", "reward: each has to be a number from 0 to 1"),
        ('echo \'{"reward": "1"}\' > $OUT/reward.json', "reward: each has to be a number from 0 to 1"),
        ("echo '{\"pass\": 1}' > $OUT/reward.json", "reward.json has no 'reward'"),
        ("mkfifo $OUT/reward.json", "the verifier left no reward.json (exit 0)"),
        ("ln -s /dev/zero $OUT/reward.json", "the verifier left no reward.json (exit 0)"),
        ("head -c 200000 /dev/zero | tr '\\0' '[' > $OUT/reward.json", "the verifier left no reward.json (exit 0)"),
    ],
)
def test_a_verifier_that_says_nothing_sound_is_no_result(script: str, error: str, tmp_path: Path) -> None:
    said = judged(task_of(tmp_path / "task", script), tmp_path)
    assert said.reward is None
    assert error in said.error


@bubblewrap
def test_links_that_a_verifier_leaves_bring_nothing_in(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a key")
    line = f"ln -s {tmp_path}/secret $OUT/shot.png; ln -s {tmp_path}/secret $LOGS_DIR/agent/audit.json"
    said = judged(task_of(tmp_path / "task", line + "; echo '{\"reward\": 1}' > $OUT/reward.json"), tmp_path)
    assert said.reward == 1.0
    assert [file.name for file in (tmp_path / "logs" / "verifier").iterdir()] == ["reward.json"]
    assert not list((tmp_path / "logs" / "agent").iterdir())


@bubblewrap
def test_a_process_that_the_program_detached_tells_no_result(tmp_path: Path) -> None:
    task = next(one for one in suite_named("fix").tasks if one.name == "inventory")
    shutil.copytree(task.app, tmp_path / "app")
    beside = f"BESIDE = {str(tmp_path)!r} + '/*/verifier/reward.json'\n"
    (tmp_path / "app" / "inventory" / "__init__.py").write_text(beside + DETACHED)
    assert judged(task, tmp_path).reward == 0.0


def test_links_of_a_task_stay_links_and_commits_hide_no_change(tmp_path: Path) -> None:
    task = task_of(tmp_path / "task", "true")
    (task.app / "out").symlink_to("/etc/passwd")
    (task.app / "hidden").symlink_to("../../tests/test.sh")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    app, _ = _copied(task, scratch)
    assert (app / "out").is_symlink()
    assert not (app / "hidden").exists()
    (app / "new.py").write_text("x = 1\n")
    for words in (["add", "-A"], ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "Mine"]):
        subprocess.run(["git", *words], cwd=app, check=True)
    assert b"+x = 1" in _diff(app)
    shutil.rmtree(app / ".git")
    assert b"+x = 1" in _diff(app)


def test_a_line_that_was_cut_takes_no_other_along(tmp_path: Path) -> None:
    whole = json.dumps(Row("task", "pool", True, 1, reward=1.0).to_dict())
    (tmp_path / RESULTS).write_text(f"{whole}\n{whole[:40]}")
    made = Row("task", "pool", True, 2, reward=1.0)
    Running(tmp_path, print)._append(made)  # pyright: ignore[reportPrivateUsage] how a run is kept
    assert [row.number for row in read_rows(tmp_path)] == [1, 2]
