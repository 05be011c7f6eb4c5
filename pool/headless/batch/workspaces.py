"""Where a task works: a git worktree and branch of its own, a copy of its folder, or the folder itself."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import defaultdict
from pathlib import Path

from pool.agent.configured import settings_for
from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import find_repository
from pool.agent.gitwork.worktrees import add_worktree
from pool.config.settings import SettingsError
from pool.headless.batch.tasks import BatchError, Task

MOST_COPIES = 100
"""Of one task's folder, from attempts and batches before."""

MOST_COPY_BYTES = 2_000_000_000
"""A larger folder is not copied for each task: a git repository, or `isolate` none, is what it needs."""


class Workspaces:
    """Makes them. name is the batch's, copies the folder for copies."""

    def __init__(self, name: str, copies: Path) -> None:
        self._name = name
        self._copies = copies
        self._locks: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def make(self, task: Task) -> tuple[str, str]:
        """A fresh folder for an attempt, and its branch, "" for none. Raises `BatchError`."""
        match task.isolate:
            case "none":
                return task.dir, ""
            case "copy":
                return await self._copy(task), ""
            case "worktree":
                return await self._worktree(task)
            case _:
                return await self._worktree(task) if _in_repository(Path(task.dir)) else (await self._copy(task), "")

    async def _worktree(self, task: Task) -> tuple[str, str]:
        folder = Path(task.dir)
        try:
            top = find_repository(folder).top
            settings = settings_for(folder, os.environ, {}, "", with_key=False).settings
            # One after the other: git locks a repository's list of worktrees.
            async with self._locks[top]:
                tree = await add_worktree(settings, "", about=f"{self._name} {task.slug}")
        except (GitWorkError, SettingsError) as error:
            raise BatchError(f"no worktree for task {task.id}: {error}") from None
        below = folder.relative_to(top)
        if not (tree.path / below).is_dir():
            raise BatchError(f"no worktree for task {task.id}: {below} is not in the last commit")
        return str(tree.path / below), tree.branch

    async def _copy(self, task: Task) -> str:
        names = (task.slug, *(f"{task.slug}-{number}" for number in range(2, MOST_COPIES)))
        target = next((self._copies / name for name in names if not os.path.lexists(self._copies / name)), self._copies)
        try:
            await asyncio.to_thread(_copied, Path(task.dir), target)
        except OSError as error:
            raise BatchError(f"no copy for task {task.id}: {error.strerror or error} ({target})") from None
        return str(target)


def _in_repository(folder: Path) -> bool:
    try:
        find_repository(folder)
    except GitWorkError:
        return False
    return True


def _copied(folder: Path, target: Path) -> None:
    """Copy a folder, links as links (blocking: for a thread). Raises OSError, also for one that is too large."""
    if target.is_relative_to(folder):
        raise OSError(f"the copy would lie in {folder} itself; give --out another folder")
    left = MOST_COPY_BYTES
    for top, _, names in os.walk(folder):
        left -= sum(os.lstat(os.path.join(top, name)).st_size for name in names)
        if left < 0:
            raise OSError(f"{folder} has more than {MOST_COPY_BYTES:,} bytes")
    shutil.copytree(folder, target, symlinks=True)
