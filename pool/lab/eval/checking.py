"""`pool eval check`: whether a task's reference solution passes and its naive attempt fails. No model is asked."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from pool.lab.eval.given import with_python
from pool.lab.eval.judging import COMPILED, Judgement, judge
from pool.lab.eval.task import SOLVE_SCRIPT, Task
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.workspace import Workspace

SOLVE_SECONDS = 120.0
MOST_SAID = 300


@frozen
class Checked:
    """What came of both attempts; problem is "" where the task is sound, unknown where it could not be judged."""

    task: str
    solution: Judgement
    naive: Judgement
    problem: str = ""
    unknown: str = ""


async def check(task: Task, *, unconfined: bool = False) -> Checked:
    """Try a task's own two attempts."""
    solution = await _tried(task, task.solution, unconfined=unconfined)
    naive = await _tried(task, task.naive, unconfined=unconfined) if task.naive.is_dir() else Judgement(reward=0.0)
    unknown = solution.error or naive.error
    problem = ""
    if not unknown and (solution.reward or 0.0) < 1.0:
        problem = f"the reference solution does not pass: {'; '.join(solution.why)[:MOST_SAID] or solution.figures}"
    elif not unknown and (naive.reward or 0.0) >= 1.0:
        problem = "the naive attempt passes"
    return Checked(task.name, solution, naive, problem, unknown)


async def _tried(task: Task, attempt: Path, *, unconfined: bool) -> Judgement:
    with tempfile.TemporaryDirectory(prefix="pool-eval-") as scratch:
        app, logs, script = Path(scratch) / "app", Path(scratch) / "logs", Path(scratch) / "attempt"
        (logs / "agent").mkdir(parents=True)
        if task.app.is_dir():
            await asyncio.to_thread(shutil.copytree, task.app, app, symlinks=True, ignore=COMPILED)
        else:
            app.mkdir()
        await asyncio.to_thread(shutil.copytree, attempt, script)
        problem = await _solve(app, logs, script, unconfined=unconfined)
        return Judgement(error=problem) if problem else await judge(task, app, logs, unconfined=unconfined)


async def _solve(app: Path, logs: Path, script: Path, *, unconfined: bool) -> str:
    """Carry an attempt out in the sandbox; what went wrong, or nothing."""
    found = await asyncio.to_thread(probe, Policy((app, logs, script)))
    workspace = Workspace(app, (logs, script))
    commands = Commands(workspace, found.sandbox)
    try:
        if found.tier == NoSandbox.name and not unconfined:
            return f"no sandbox works here: {found.reason}"
        kept = bytearray()
        env = {**with_python(commands), "LOGS_DIR": str(logs), "APP_DIR": str(app), "HOME": os.fspath(logs)}
        ended = await commands.run(("sh", str(script / SOLVE_SCRIPT)), SOLVE_SECONDS, kept.extend, env)
        said = kept.decode("utf-8", "replace")[-MOST_SAID:]
        return "" if ended.status == 0 else f"{script.name}/{SOLVE_SCRIPT} failed (exit {ended.status}): {said}"
    finally:
        await commands.close()
        workspace.close()
        found.sandbox.close()
