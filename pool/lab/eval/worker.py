"""One run of a task, in a process of its own: `python -m pool.lab.eval.worker` with a job as JSON on standard input.

The process has a state folder of its own, so that nothing of an evaluation is among the user's sessions. It works the
task in a clean copy, judges what is there then, audits the run, and leaves a row beside what it wrote.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from pool import __version__
from pool.agent.approvals import NobodyThere
from pool.agent.configured import settings_for
from pool.agent.digest import result_of
from pool.agent.factory import Extras, Session, open_session
from pool.agent.ids import new_id
from pool.agent.result import RunResult
from pool.agent.toolchoice import NO_TOOLS
from pool.config.load import flag_values
from pool.config.settings import Mode, SandboxChoice, Settings, SettingsError
from pool.events import RunFinished, to_dict
from pool.jsonable import plain
from pool.lab.eval.given import tools_for
from pool.lab.eval.job import Job, job_of
from pool.lab.eval.judging import COMPILED, judge
from pool.lab.eval.row import Row
from pool.lab.eval.task import Kind, Task, TaskProblem, read_task
from pool.sessions.store import sessions_folder
from pool.stops import StopReason
from pool.wire.errors import ServerProblem
from pool_tools.environment import clean_environment

ROW, ANSWER, TRAJECTORY, RESULT, DIFF, AUDIT = (
    "row.json",
    "answer.txt",
    "trajectory.json",
    "result.json",
    "changes.diff",
    "audit.json",
)
AGENT, GIVEN = "agent", "given.git"
BUILDS = re.compile(r"nvfp4|mxfp4|fp8|int[48]|awq|gptq|bf16|q\d(?:_[a-z0-9]+)*|iq\d(?:_[a-z0-9]+)*|gguf", re.IGNORECASE)
"""Parts of a model's name that tell its build."""

_GIT = ("-c", "user.name=Pool", "-c", "user.email=pool@localhost", "-c", "commit.gpgsign=false")


async def work(job: Job) -> Row:
    """Work a job. Never raises for what the server, the model or the task does: the row says it."""
    row = Row(Path(job.task).name, job.arm, job.thinking, job.number, pool=__version__)
    folder = Path(job.folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pool-eval-") as scratch:
        try:
            task = read_task(Path(job.task))
            app, original = _copied(task, Path(scratch))
            logs = Path(scratch) / "logs"
            (logs / AGENT).mkdir(parents=True)
            row = await _worked(job, task, app, logs, row)
            if not row.error:
                row = await _judged(job, task, app, logs, row)
                row = await _audited(task, app, original, logs, row)
        except (TaskProblem, SettingsError, ServerProblem, OSError) as error:
            row = replace(row, error=str(error))
        finally:
            _keep(Path(scratch) / "logs", folder)
    return row


def _copied(task: Task, scratch: Path) -> tuple[Path, Path]:
    """The tree to work in, a repository with one commit, and the same again as it was."""
    app, original = scratch / "app", scratch / "original"
    for place in (app, original):
        if task.app.is_dir():
            # A link that leads out of the tree must not bring in what it leads to.
            shutil.copytree(task.app, place, symlinks=True, ignore=COMPILED)
        else:
            place.mkdir(parents=True)
    if task.kind is Kind.REPO:
        for words in (("init", "-q"), ("add", "-A"), (*_GIT, "commit", "-q", "--allow-empty", "-m", "As given")):
            subprocess.run(["git", *words], cwd=app, check=True, capture_output=True, env=clean_environment(os.environ))
        # What was given is known from here, whatever the agent commits, rewrites or deletes of its own history.
        shutil.copytree(app / ".git", scratch / GIVEN)
    return app, original


async def _worked(job: Job, task: Task, app: Path, logs: Path, row: Row) -> Row:
    if job.harness:
        from pool.lab.eval.others import worked_by

        return await worked_by(job, task, app, logs / AGENT, row)
    async with tools_for(task, app) as given:
        settings = _settings(job, task, app, tuple(tool.spec.name for tool in given))
        async with open_session(settings, NobodyThere(), Extras(given)) as session:
            for tool in given:
                tool.attach(session.toolbox.commands)
            result = await _run(session, task.instruction)
            log = sessions_folder() / f"{session.hub.session}.jsonl"
    (logs / AGENT / ANSWER).write_text(result.answer, "utf-8")
    (logs / AGENT / RESULT).write_text(json.dumps(result.to_dict(), ensure_ascii=False, indent=1), "utf-8")
    if log.is_file():
        shutil.copy(log, logs / AGENT / "session.jsonl")
        _export(log, logs / AGENT / TRAJECTORY)
    return _filled(row, result)


async def _run(session: Session, prompt: str) -> RunResult:
    """Work a prompt to its end."""
    events = session.hub.subscribe(-1)
    working = asyncio.create_task(session.agent.run(prompt, new_id()))
    rows: list[dict[str, Any]] = []
    async for event in events:
        if not event.body.transient:
            rows.append(plain(to_dict(event)))
        if isinstance(event.body, RunFinished):
            break
    await working
    return result_of(rows)


def _settings(job: Job, task: Task, app: Path, given: tuple[str, ...]) -> Settings:
    """The user's settings for the server and the model; nothing else that could make two machines differ."""
    loaded = settings_for(app, os.environ, flag_values(dict(job.flags)), job.profile).settings
    plainest = Settings(app)
    only = given or (NO_TOOLS if task.kind is Kind.ANSWER else task.tools)
    return replace(
        loaded,
        mode=Mode.ALLOW_ALL if job.unconfined else Mode.AUTO,
        sandbox=SandboxChoice.OFF if job.unconfined else SandboxChoice.REQUIRED,
        network="off",
        thinking=job.thinking,
        only_tools=only,
        unseen=tuple(Path(path) for path in job.unseen),
        budgets=replace(loaded.budgets, turns=task.max_turns, seconds=task.limit_seconds),
        agents_md=replace(plainest.agents_md, read=False),
        skills=replace(plainest.skills, read=False),
        mcp=plainest.mcp,
        web=plainest.web,
        diagnostics=plainest.diagnostics,
        agents=(),
        hooks=(),
        allow=(),
        ask=(),
        deny=(),
    )


def _export(log: Path, target: Path) -> None:
    from pool.sessions.export.session import Format, exported, read_session

    target.write_text(exported(read_session(log, None), Format.ATIF), "utf-8")


def _filled(row: Row, result: RunResult) -> Row:
    usage = result.usage
    away = result.reason in (StopReason.SERVER_FAILED, StopReason.INTERNAL_ERROR)
    return replace(
        row,
        reason=result.reason,
        error=result.detail or "the server failed" if away else "",
        turns=result.turns,
        calls=len(result.calls),
        prompt_tokens=usage.prompt,
        cached_tokens=usage.cached or 0,
        completion_tokens=usage.completion,
        reasoning_tokens=result.reasoning_tokens,
        seconds=result.seconds,
        decode_seconds=result.time.decode,
        guards=tuple(f"{one.guard}:{one.action}" for one in result.guards),
        server=result.server,
        model=result.model,
        build=build_of(result.model),
        sandbox=result.sandbox,
    )


def build_of(model: str) -> str:
    """The build that a model's name tells, such as NVFP4; "" for none."""
    found = BUILDS.search(model)
    return found[0].upper() if found else ""


async def _judged(job: Job, task: Task, app: Path, logs: Path, row: Row) -> Row:
    (logs / AGENT / DIFF).write_bytes(_diff(app))
    said = await judge(task, app, logs, unconfined=job.unconfined)
    return replace(
        row,
        reward=said.reward,
        passed=said.passed,
        held_out=said.held_out,
        error=said.error,
        why=said.why,
        figures=said.figures,
    )


def _diff(app: Path) -> bytes:
    """What was changed since the tree was given, as git tells it; nothing where the tree was no repository."""
    given = app.parent / GIVEN
    if not given.is_dir():
        return b""
    env = clean_environment(os.environ)
    # The repository is one that the agent never saw; what it made of its own gives git no orders here.
    options = (f"--git-dir={given}", f"--work-tree={app}", "-c", "core.fsmonitor=", "-c", "diff.ignoreSubmodules=all")
    for words in (("add", "-A", "-N"), ("diff", "--no-ext-diff", "--no-textconv", "HEAD")):
        done = subprocess.run(["git", *options, *words], cwd=app, capture_output=True, env=env, check=False)
    return done.stdout


async def _audited(task: Task, app: Path, original: Path, logs: Path, row: Row) -> Row:
    """The audit of the run; its tests are the verifier's, which restored the original ones."""
    from pool.lab.audit import AuditProblem, Severity, TaskFacts, audit_log, audit_trajectory

    facts = TaskFacts(
        prompt=task.instruction,
        original=original,
        result=app,
        tests=task.tests,
        hidden=(str(task.test_folder), str(task.solution)),
        evaluation=True,
        restored_passed=_whole(row.passed),
        held_out_passed=_whole(row.held_out),
    )
    log = logs / AGENT / "session.jsonl"
    try:
        if log.is_file():
            audit = await asyncio.to_thread(audit_log, log, facts)
        else:
            audit = await asyncio.to_thread(audit_trajectory, logs / AGENT / TRAJECTORY, facts)
    except AuditProblem as problem:
        return replace(row, audit=f"not made: {problem}")
    (logs / AGENT / AUDIT).write_text(json.dumps(audit.to_dict(), ensure_ascii=False, indent=1), "utf-8")
    counted = {one: sum(found.severity is one for found in audit.open_findings) for one in Severity}
    return replace(
        row,
        audit=audit.verdict.value,
        flags=tuple(f"{one.value}{count}" for one, count in counted.items() if count),
    )


def _whole(share: float | None) -> bool | None:
    return None if share is None else share >= 1.0


def _keep(logs: Path, folder: Path) -> None:
    """What the run left, where it stays."""
    for part in (AGENT, "verifier"):
        if (logs / part).is_dir():
            shutil.copytree(logs / part, folder / part, dirs_exist_ok=True)


async def _until_told(working: Coroutine[Any, Any, Row]) -> Row:
    """Work; SIGTERM ends it in order, so that nothing is left in the system's temporary folder."""
    task = asyncio.create_task(working)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def main() -> int:
    """Read a job, work it, and leave its row. Returns the exit code."""
    job = job_of(json.load(sys.stdin))
    row = asyncio.run(_until_told(work(job)))
    target = Path(job.folder) / ROW
    target.write_text(json.dumps(row.to_dict(), ensure_ascii=False), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
