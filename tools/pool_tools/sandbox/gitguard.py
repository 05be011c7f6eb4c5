"""Paths of a repository that commands may not change, since git takes orders from them when a person runs it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.sandbox.gitfiles import listed

ORDERS = ("config", "config.worktree", "hooks")
"""In a git folder: what can name programs to run."""

_POINTER = "gitdir: "
_POINTER_BYTES = 4_096


@frozen
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
    if os.path.isdir(real):
        return _guarded(real) if real.is_relative_to(root) else GitPaths()
    if not os.path.isfile(dot_git) or dot_git.is_symlink():
        return GitPaths()
    folder = _pointer(dot_git, root)
    # Git writes the way back from a worktree's folder to its `.git` file. Only the owner of the repository can have.
    back = _first_line(folder / "gitdir") if folder else ""
    if not folder or "\0" in back or os.path.realpath(back) != str(dot_git) or folder.parent.name != "worktrees":
        return GitPaths()
    common = folder.parent.parent
    return _guarded(common)


def _guarded(folder: Path) -> GitPaths:
    protected = [folder / name for name in ORDERS]
    worktrees = folder / "worktrees"
    if os.path.isdir(worktrees):
        protected += [worktrees / name / "config.worktree" for name in listed(worktrees)]
    kept = tuple(path for path in protected if os.path.exists(path) and not path.is_symlink())
    return GitPaths((folder,), kept)


def _pointer(file: Path, root: Path) -> Path | None:
    line = _first_line(file)
    if not line.startswith(_POINTER) or "\0" in line:
        return None
    return Path(os.path.realpath(root / line.removeprefix(_POINTER)))


def _first_line(file: Path) -> str:
    """ "" where there is no regular file; a named pipe is not waited for."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return os.fsdecode(os.read(handle, _POINTER_BYTES)).split("\n", 1)[0].strip()
    except OSError:
        return ""
    finally:
        os.close(handle)
