"""The state of the repository for a status line: cheap, never in the way, and unknown rather than slow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from pool.agent.gitwork.branch import SHORT_HASH, GitState, branch_from_files
from pool.sessions.checkpoints.repository import repository_of
from pool_tools.api import ToolError
from pool_tools.commands import Commands
from pool_tools.git.runner import Git
from pool_tools.git.status import operation_in, parse

STATE_SECONDS = 2.0
"""How long git may look for changes; then it is unknown whether there are any."""

LEAST_SECONDS = 5.0
COST_SHARE = 0.02
"""It is looked again after so many seconds at the soonest, and so that looking takes at most this share of the time."""

_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--ignore-submodules=dirty")


async def git_state(commands: Commands, limit: float = STATE_SECONDS) -> GitState | None:
    """The state of the repository in which commands run, None where there is none. Takes limit seconds at most.

    Takes no locks. In a tree that is too large it is tried without new files, and then without any.
    """
    repository = await asyncio.to_thread(repository_of, commands.folder)
    if repository is None:
        return None
    git = Git(commands)
    worktree = repository.folder != repository.common
    operation = operation_in(str(repository.folder))
    until = time.monotonic() + limit
    for untracked, share in (("normal", 0.5), ("no", 1.0)):
        left = (until - time.monotonic()) * share
        if left <= 0:
            break
        try:
            output = await git.read(*_STATUS, f"--untracked-files={untracked}", limit=left)
        except ToolError:
            break
        if output.ended.timed_out:
            continue
        if not output.ok:
            break
        status = parse(output.text)
        # Without a look at new files only a change can be known, not that there is none.
        dirty = True if not status.clean else False if untracked == "normal" else None
        name = status.branch or status.commit[:SHORT_HASH]
        return GitState(name, status.detached, dirty, status.ahead, status.behind, worktree, operation)
    known = branch_from_files(commands.folder)
    return replace(known, operation=operation) if known else None


class GitWatch:
    """Knows the last state, and looks again in the background when it is asked for."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands.reading()
        self._folder = commands.folder
        self._state: GitState | None = None
        self._looking: asyncio.Task[None] | None = None
        self._due = 0.0
        self.changed: Callable[[], object] = lambda: None
        """Called when the state is not what it was."""

    def state(self) -> GitState | None:
        """The last state, at once; None outside of a repository. The branch is always up to date."""
        if time.monotonic() >= self._due and self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        now = branch_from_files(self._folder)
        known = self._state
        if now is None or known is None or (now.branch, now.detached) != (known.branch, known.detached):
            return now
        return known

    async def _look(self) -> None:
        started = time.monotonic()
        try:
            found = await git_state(self._commands)
        finally:
            took = time.monotonic() - started
            self._due = time.monotonic() + max(LEAST_SECONDS, took / COST_SHARE)
            self._looking = None
        if found != self._state:
            self._state = found
            self.changed()
