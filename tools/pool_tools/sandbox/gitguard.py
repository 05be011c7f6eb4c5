"""Paths of a repository that commands may not change, since git takes orders from them when a person runs it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ORDERS = ("config", "config.worktree", "hooks")
"""In a git folder: what can name programs to run."""

_POINTER = "gitdir: "
_POINTER_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class GitPaths:
    """writable are git folders to be mounted each on its own, protected what in them stays as it is."""

    writable: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()


def git_paths(root: Path) -> GitPaths:
    """The git folders of the repository or linked worktree at root; empty if it is none.

    A `.git` that is a link out of root, or a pointer that the repository does not confirm, gives nothing: both can come
    with a checkout and name any folder.
    """
    dot_git = root / ".git"
    real = Path(os.path.realpath(dot_git))
    if real.is_dir():
        return _guarded(real) if real.is_relative_to(root) else GitPaths()
    if not dot_git.is_file() or dot_git.is_symlink():
        return GitPaths()
    folder = _pointer(dot_git, root)
    # Git writes the way back from a worktree's folder to its `.git` file. Only the owner of the repository can have.
    back = _first_line(folder / "gitdir") if folder else ""
    if not folder or os.path.realpath(back) != str(dot_git) or folder.parent.name != "worktrees":
        return GitPaths()
    common = folder.parent.parent
    return _guarded(common)


def _guarded(folder: Path) -> GitPaths:
    protected = [folder / name for name in ORDERS]
    worktrees = folder / "worktrees"
    if worktrees.is_dir():
        protected += [tree / "config.worktree" for tree in worktrees.iterdir()]
    kept = tuple(path for path in protected if path.exists() and not path.is_symlink())
    return GitPaths((folder,), kept)


def _pointer(file: Path, root: Path) -> Path | None:
    line = _first_line(file)
    if not line.startswith(_POINTER):
        return None
    return Path(os.path.realpath(root / line.removeprefix(_POINTER)))


def _first_line(file: Path) -> str:
    try:
        with file.open("rb") as handle:
            return os.fsdecode(handle.read(_POINTER_BYTES)).split("\n", 1)[0].strip()
    except OSError:
        return ""
