"""Counting and removing a folder with all that is below it, links not followed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path


def counted(path: Path) -> tuple[int, int]:
    """How many files there are, and how many bytes they have."""
    files = total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
                files += 1
    return files, total


def remove_tree(path: Path) -> str:
    """Remove a file, a link or a folder; what went wrong, "" if nothing did. What is not there is removed already."""
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            return ""
        with contextlib.suppress(OSError):
            shutil.rmtree(path)
            return ""
        # Caches of packages have folders that their owner may not write to.
        _open_folders(path)
        shutil.rmtree(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{error.filename or path}: {error.strerror or error}"
    return ""


def _open_folders(path: Path) -> None:
    """Let the user write to every folder of a tree."""
    os.chmod(path, stat.S_IRWXU)
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = os.path.join(folder, name)
            if not os.path.islink(inner):
                with contextlib.suppress(OSError):
                    os.chmod(inner, stat.S_IRWXU)
