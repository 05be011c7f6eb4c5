"""The branch by git's own files: what is known of a repository without starting a process."""

from __future__ import annotations

from pathlib import Path

from pool.sessions.checkpoints.repository import repository_of
from pool_tools.frozen import frozen

SHORT_HASH = 8
_HEAD_BYTES = 4096


@frozen
class GitState:
    """Where a work tree stands. branch is the short commit id where HEAD is detached.

    dirty: something differs from the last commit; None where that is not known. ahead and behind count commits against
    the upstream branch, 0 where there is none. worktree: a linked one. operation is what is half done, such as a merge.
    """

    branch: str
    detached: bool = False
    dirty: bool | None = None
    ahead: int = 0
    behind: int = 0
    worktree: bool = False
    operation: str = ""


def branch_from_files(workspace: Path) -> GitState | None:
    """The branch by git's files alone, without a process; None where there is none."""
    repository = repository_of(workspace)
    if repository is None:
        return None
    try:
        with (repository.folder / "HEAD").open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return None
    worktree = repository.folder != repository.common
    if head.startswith("ref:"):
        return GitState(head.removeprefix("ref:").strip().removeprefix("refs/heads/"), worktree=worktree)
    return GitState(head[:SHORT_HASH], detached=True, worktree=worktree)
