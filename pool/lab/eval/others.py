"""A task worked by another agent's command line: `pool eval --harness NAME`."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from pool.agent.configured import settings_for
from pool.config.load import flag_values
from pool.lab.eval.harnesses import HarnessProblem, HarnessTask, harness_named, run_harness
from pool.lab.eval.job import Job
from pool.lab.eval.row import Row
from pool.lab.eval.task import Kind, Task
from pool.wire.endpoint import parse_endpoint


async def worked_by(job: Job, task: Task, app: Path, left: Path, row: Row) -> Row:
    """The row of a run of another agent, whose answer and trajectory are left in the folder left."""
    if task.kind is Kind.FUNCTIONS:
        return replace(row, error=f"{job.harness} cannot be given a task's functions")
    settings = settings_for(app, os.environ, flag_values(dict(job.flags)), job.profile).settings
    try:
        harness = harness_named(job.harness)
        run = await run_harness(
            harness,
            HarnessTask(
                task.instruction,
                app,
                app.parent / "home",
                parse_endpoint(settings.base_url).base_url,
                settings.model,
                settings.api_key or "",
                task.limit_seconds,
                task.max_turns,
                tuple(Path(path) for path in job.unseen),
                job.unconfined,
            ),
        )
    except HarnessProblem as problem:
        return replace(row, error=str(problem))
    (left / "answer.txt").write_text(run.answer, "utf-8")
    (left / "output.txt").write_text(run.output, "utf-8")
    (left / "trajectory.json").write_text(json.dumps(run.trajectory, ensure_ascii=False, indent=1), "utf-8")
    figures = run.figures
    return replace(
        row,
        reason=run.ended,
        why=(run.detail,) if run.detail else (),
        turns=figures.turns,
        calls=figures.calls,
        prompt_tokens=figures.prompt_tokens,
        cached_tokens=figures.cached_tokens,
        completion_tokens=figures.completion_tokens,
        reasoning_tokens=figures.reasoning_tokens,
        seconds=run.seconds,
        server=settings.base_url,
        model=settings.model,
        sandbox=run.sandbox,
        pool=row.pool,
    )
