"""Telling files of git's by where they lie: a repository needs no folder named `.git`.

Git takes any folder for a repository that holds `HEAD`, `objects` and `refs` (or `HEAD` and `commondir`), and then
obeys the `config` and the hooks in it. Commands are watched for that; file tools do not make or change such a thing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from pool_tools.paths import FOLDER_FLAGS

DOT_GIT = ".git"
_SHAPE = ("HEAD", "commondir", "objects", "refs")
_OBEYED = frozenset({"config", "config.worktree", "commondir", "hooks", "modules", "worktrees"})


def is_repository(names: Collection[str]) -> bool:
    """Whether git would take a folder with such entries for a repository."""
    return "HEAD" in names and ("commondir" in names or ("objects" in names and "refs" in names))


def belongs_to_git(root: int, parts: Sequence[str]) -> bool:
    """Whether git would obey a file, or take a folder for a repository once the file is there.

    root is a handle of a folder, parts lead from it to the file by folders that need not exist yet.
    """
    if any(part.casefold() == DOT_GIT for part in parts):
        return True
    here = os.dup(root)
    try:
        for part in parts:
            there = {name for name in _SHAPE if _exists(name, here)}
            if is_repository(there):
                if part.casefold() in _OBEYED:
                    return True
            elif is_repository(there | {name for name in _SHAPE if name.casefold() == part.casefold()}):
                return True
            try:
                below = os.open(part, FOLDER_FLAGS, dir_fd=here)
            except OSError:
                return False
            os.close(here)
            here = below
    finally:
        os.close(here)
    return False


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
