"""What the model is told of a task that has no result."""

from __future__ import annotations

from pool.sessions.store import short_id
from pool.sessions.workrows import OpenTask
from pool_tools.text import visible


def stopped_words(task: OpenTask) -> str:
    """The result of a task that was stopped with the run that gave it."""
    return _interrupted(task, "the run was stopped")


def orphan_words(task: OpenTask) -> str:
    """The result of a task at which Pool itself ended."""
    return _interrupted(task, "Pool ended, and the subagent with it,")


def _interrupted(task: OpenTask, why: str) -> str:
    session = f" Its session is {short_id(task.session)}." if task.session else ""
    tree = ""
    if task.branch:
        folder = visible(task.folder)
        tree = f" What it had done by then is in the worktree {folder}, branch {task.branch}, maybe not committed."
    return f"Interrupted: {why} before {task.kind or 'it'} had a result.{session}{tree}"
