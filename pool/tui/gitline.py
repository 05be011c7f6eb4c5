"""The branch for the status bar, read from git's files: no process, no lock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 4096
SHORT_HASH = 8


@dataclass(frozen=True, slots=True)
class Branch:
    """name is the branch, or the beginning of the commit of a detached HEAD; worktree: a linked one."""

    name: str
    worktree: bool = False


def branch_of(workspace: Path) -> Branch | None:
    """The branch of the repository that holds the folder, None outside of one."""
    for folder in (workspace, *workspace.parents):
        dot = folder / ".git"
        try:
            if dot.is_file():
                target = _read(dot).removeprefix("gitdir:").strip()
                return _named((folder / target).resolve(), worktree=True)
            if dot.is_dir():
                return _named(dot, worktree=False)
        except OSError:
            return None
    return None


def _named(git: Path, *, worktree: bool) -> Branch | None:
    head = _read(git / "HEAD").strip()
    if head.startswith("ref:"):
        return Branch(head.removeprefix("ref:").strip().removeprefix("refs/heads/"), worktree)
    return Branch(head[:SHORT_HASH], worktree) if head else None


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")
