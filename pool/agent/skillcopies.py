"""Copies of a skill's files for commands, which cannot see the folders that skills lie in.

The commands' temporary folder may be written by them while this works: every folder is made and entered by a handle,
and no link is followed, so that nothing can be made to land elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from pool_tools.scratch import Scratch

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_ONLY, _RUNS = 0o444, 0o111


def copied(name: str, sources: Sequence[tuple[str, Path]], scratch: Scratch) -> str:
    """Copy files, given as paths below the skill and where they lie; the folder as commands call it. Raises OSError."""
    own = f"skill-{name}-{token_hex(4)}"
    top = os.open(scratch.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        folder = _entered(top, own)
    finally:
        os.close(top)
    try:
        for path, source in sources:
            _copy(folder, path.split("/"), source)
    finally:
        os.close(folder)
    return scratch.path(own)


def _copy(folder: int, parts: list[str], source: Path) -> None:
    if len(parts) > 1:
        below = _entered(folder, parts[0])
        try:
            _copy(below, parts[1:], source)
        finally:
            os.close(below)
        return
    with open(os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as data:
        mode = _READ_ONLY | (os.fstat(data.fileno()).st_mode & _RUNS)
        with open(os.open(parts[0], _FILE_FLAGS, mode, dir_fd=folder), "wb") as file:
            shutil.copyfileobj(data, file)


def _entered(folder: int, name: str) -> int:
    """A handle of a folder, made if it is not there."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, _FOLDER_FLAGS, dir_fd=folder)
