"""The verifier of a task: its hidden tests over the tree that a run left, in a sandbox without a network."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from pool.lab.eval.given import with_python
from pool.lab.eval.task import TEST_SCRIPT, Task
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.process import Ended
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.workspace import Workspace

AGENT, VERIFIER, REWARD, DETAILS = "agent", "verifier", "reward.json", "details.json"
CANNOT_JUDGE = 3
"""Exit status of a verifier that lacks what it needs on this machine."""

MOST_SAID = 600
MOST_FILES, MOST_FILE_BYTES = 100, 20_000_000
"""Of what a verifier leaves so much is taken; a screenshot has less than a megabyte."""

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

    The tests, and what the agent left, are copied beside the tree for the time of it. The program that is judged runs
    with the rights of its verifier: it could leave links, pipes or numbers of its own there. So plain files alone are
    taken from it afterwards. Without a sandbox nothing is run, unless unconfined.
    """
    missing = [name for name in task.needs if not any(shutil.which(n) for n in _PROGRAMS.get(name, (name,)))]
    if missing:
        return Judgement(error=f"it cannot be judged here without {', '.join(missing)}")
    tests, own = app.parent / "tests", app.parent / "judging"
    await asyncio.to_thread(shutil.copytree, task.test_folder, tests, ignore=COMPILED)
    await asyncio.to_thread(shutil.copytree, logs / AGENT, own / AGENT)
    (own / VERIFIER).mkdir()
    found = await asyncio.to_thread(probe, Policy((app, own, tests)))
    workspace = Workspace(app, (own, tests))
    commands = Commands(workspace, found.sandbox)
    try:
        if found.tier == NoSandbox.name and not unconfined:
            return Judgement(error=f"no sandbox works here for the verifier: {found.reason}")
        ended, said = await _run(task, commands, tests, own)
    finally:
        await commands.close()
        workspace.close()
        found.sandbox.close()
        await asyncio.to_thread(shutil.rmtree, tests, ignore_errors=True)
    await asyncio.to_thread(_taken, own / VERIFIER, logs / VERIFIER)
    await asyncio.to_thread(shutil.rmtree, own, ignore_errors=True)
    return _judgement(task, ended, said, logs / VERIFIER)


_PROGRAMS = {"chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")}


async def _run(task: Task, commands: Commands, tests: Path, logs: Path) -> tuple[Ended, str]:
    """The verifier to its end, and the last of what it said."""
    env = {
        **with_python(commands),
        "TESTS_DIR": str(tests),
        "LOGS_DIR": str(logs),
        "APP_DIR": str(commands.folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    kept = bytearray()
    ended = await commands.run(("sh", str(tests / TEST_SCRIPT)), task.judge_seconds, kept.extend, env)
    return ended, kept.decode("utf-8", "replace").strip()[-MOST_SAID:]


def _taken(left: Path, into: Path) -> None:
    """Take the plain files that a verifier left. Nothing that was confined runs any more when they are looked at."""
    into.mkdir(parents=True, exist_ok=True)
    if left.is_symlink() or not left.is_dir():
        return
    for name in sorted(os.listdir(left))[:MOST_FILES]:
        found = (left / name).lstat()
        if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_FILE_BYTES:
            shutil.copyfile(left / name, into / name, follow_symlinks=False)


def _judgement(task: Task, ended: Ended, said: str, left: Path) -> Judgement:
    if ended.timed_out:
        return Judgement(error=f"the verifier took longer than {task.judge_seconds:.0f} s")
    if ended.status == CANNOT_JUDGE:
        return Judgement(error=f"it cannot be judged here: {said}")
    figures = _read(left / REWARD)
    if figures is None:
        return Judgement(error=f"the verifier left no {REWARD} (exit {ended.status}): {said}")
    bad = [name for name, value in figures.items() if not _is_share(value)]
    if bad:
        return Judgement(error=f"{REWARD}: {', '.join(bad)}: each has to be a number from 0 to 1")
    numbers = {name: float(value) for name, value in figures.items()}
    if "reward" not in numbers:
        return Judgement(error=f"{REWARD} has no 'reward'")
    why = (_read(left / DETAILS) or {}).get("why", [])
    reasons = tuple(map(_plain, cast("list[Any]", why))) if isinstance(why, list) else (_plain(why),)
    return Judgement(numbers["reward"], numbers.get("pass"), numbers.get("held_out"), "", reasons, numbers)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1 and math.isfinite(value)


def _plain(value: object) -> str:
    """A text that can be written as UTF-8: JSON can hold halves of characters."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
