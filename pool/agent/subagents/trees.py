"""Where a subagent that changes files works: a git worktree of its own, whose branch holds what it did."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from pool.agent.gitwork.opening import find_repository, open_repository
from pool.agent.gitwork.worktrees import add_worktree, remove_worktree
from pool.config.settings import Settings
from pool_tools.frozen import frozen
from pool_tools.text import visible

MOST_FILES = 12
"""Files named in what the model is told of a branch; more are counted."""

_AUTHOR = ("-c", "user.name=Pool subagent", "-c", "user.email=pool@localhost", "-c", "commit.gpgsign=false")
"""Who commits: the branch is merged, or thrown away, by whoever reads it."""


@frozen
class Tree:
    """A worktree for one task. folder is where in it the subagent works; base is the commit that it began at.

    dirty: where the session works there are changes that are not committed, so that they are not in it.
    """

    path: Path
    folder: Path
    branch: str
    base: str
    dirty: bool


@frozen
class Left:
    """What a task left on its branch. stat is one line, "" for no change; files are lines with each file's counts."""

    stat: str = ""
    files: tuple[str, ...] = ()


class Trees:
    """Makes and finishes worktrees of one session, one after the other: git locks its repository for each."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()

    async def make(self, settings: Settings, about: str) -> Tree:
        """A new worktree at HEAD. Raises `GitWorkError` where there can be none."""
        async with self._one:
            top = find_repository(settings.workspace).top
            async with open_repository(settings) as repo:
                status = await repo.ask("status", "--porcelain", "--untracked-files=normal")
            made = await add_worktree(settings, "", about=f"task {about}")
        inside = Path(os.path.relpath(os.path.realpath(settings.workspace), top))
        return Tree(made.path, made.path / inside, made.branch, made.head, bool(status.text.strip()))

    async def finish(self, settings: Settings, tree: Tree, title: str) -> Left:
        """Commit what is not committed yet, and say what the branch changes. A branch without any is removed.

        Raises `GitWorkError`; nothing is lost then.
        """
        async with self._one:
            async with open_repository(replace(settings, workspace=tree.path)) as repo:
                if (await repo.ask("status", "--porcelain")).text.strip():
                    await repo.do("add", "--all")
                    await repo.do(*_AUTHOR, "commit", "--quiet", "--no-verify", "-m", title)
                stat = (await repo.ask("diff", "--shortstat", tree.base, "HEAD")).line.strip()
                counts = (await repo.ask("diff", "--numstat", tree.base, "HEAD")).text
            if not stat:
                await remove_worktree(settings, tree.branch)
                return Left()
        files = [visible("  ".join(line.split("\t"))) for line in counts.splitlines() if line.strip()]
        more = [f"and {len(files) - MOST_FILES} more"] if len(files) > MOST_FILES else []
        return Left(stat, (*files[:MOST_FILES], *more))
