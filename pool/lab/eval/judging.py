"""The verifier of a task: its hidden tests over the tree that a run left, in a sandbox without a network."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from pool.lab.eval.given import with_python
from pool.lab.eval.task import TEST_SCRIPT, Task
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.workspace import Workspace

VERIFIER, REWARD, DETAILS = "verifier", "reward.json", "details.json"
CANNOT_JUDGE = 3
"""Exit status of a verifier that lacks what it needs on this machine."""

MOST_SAID = 600
COMPILED = shutil.ignore_patterns("__pycache__", ".pytest_cache")
"""What Python leaves beside files, in a suite that was installed too."""


@frozen
class Judgement:
    """What the verifier said. reward is None, and error says why, where it could not judge. Numbers are from 0 to 1."""

    reward: float | None = None
    passed: float | None = None
    held_out: float | None = None
    error: str = ""
    why: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict[str, float])


async def judge(task: Task, app: Path, logs: Path, *, unconfined: bool = False) -> Judgement:
    """Run a task's verifier over a tree. logs holds `agent/`, and gets `verifier/`.

    The tests are copied beside the tree for the time of it. Without a sandbox nothing is run, unless unconfined.
    """
    missing = [name for name in task.needs if not any(shutil.which(n) for n in _PROGRAMS.get(name, (name,)))]
    if missing:
        return Judgement(error=f"it cannot be judged here without {', '.join(missing)}")
    tests = app.parent / "tests"
    await asyncio.to_thread(shutil.copytree, task.test_folder, tests, ignore=COMPILED)
    found = await asyncio.to_thread(probe, Policy((app, logs, tests)))
    workspace = Workspace(app, (logs, tests))
    commands = Commands(workspace, found.sandbox)
    try:
        if found.tier == NoSandbox.name and not unconfined:
            return Judgement(error=f"no sandbox works here for the verifier: {found.reason}")
        return await _judged(task, commands, tests, logs)
    finally:
        await commands.close()
        workspace.close()
        found.sandbox.close()
        await asyncio.to_thread(shutil.rmtree, tests, ignore_errors=True)


_PROGRAMS = {"chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")}


async def _judged(task: Task, commands: Commands, tests: Path, logs: Path) -> Judgement:
    env = {
        **with_python(commands),
        "TESTS_DIR": str(tests),
        "LOGS_DIR": str(logs),
        "APP_DIR": str(commands.folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    (logs / VERIFIER).mkdir(parents=True, exist_ok=True)
    kept = bytearray()
    ended = await commands.run(("sh", str(tests / TEST_SCRIPT)), task.judge_seconds, kept.extend, env)
    said = kept.decode("utf-8", "replace").strip()[-MOST_SAID:]
    if ended.timed_out:
        return Judgement(error=f"the verifier took longer than {task.judge_seconds:.0f} s")
    if ended.status == CANNOT_JUDGE:
        return Judgement(error=f"it cannot be judged here: {said}")
    figures = _read(logs / VERIFIER / REWARD)
    if figures is None:
        return Judgement(error=f"the verifier left no {REWARD} (exit {ended.status}): {said}")
    numbers = {name: float(value) for name, value in figures.items() if isinstance(value, int | float)}
    why = (_read(logs / VERIFIER / DETAILS) or {}).get("why", [])
    reasons = tuple(str(one) for one in cast("list[Any]", why)) if isinstance(why, list) else (str(why),)
    return Judgement(numbers.get("reward", 0.0), numbers.get("pass"), numbers.get("held_out"), "", reasons, numbers)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
