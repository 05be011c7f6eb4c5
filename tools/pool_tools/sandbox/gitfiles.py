"""Reading, putting back and setting aside files that a command may be changing at this moment.

A job may go on while Pool mends what another command did, and swap folders for links meanwhile. So nothing here is
looked up by a whole path: each folder is opened beneath the one before, no link is followed, nothing is waited for.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pool_tools.paths import FOLDER_FLAGS

HELD_BACK = ".held-back"
"""Added to the name of a file that git may not obey; nothing is thrown away."""

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNRUN_MODE = 0o600
_NAME_BYTES = 6
_CHUNK_BYTES = 64 * 1024


def read_regular(path: Path, most: int) -> tuple[os.stat_result, bytes | None]:
    """A regular file's state and its content, None for the content of one of more than most bytes.

    Raises `OSError` where it is no regular file, or a link is on the way.
    """
    with folder_of(path) as folder:
        handle = os.open(path.name, _READ_FLAGS, dir_fd=folder)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is no file any more")
        data = b""
        while len(data) <= most and (chunk := os.read(handle, _CHUNK_BYTES)):
            data += chunk
        return found, data if len(data) <= most else None
    finally:
        os.close(handle)


@contextmanager
def folder_of(path: Path, *, make: bool = False) -> Generator[int]:
    """A handle of the folder in which an absolute path lies. Raises `OSError` where a link is on the way.

    make: what stands in the way is set aside, and folders that are missing are made.
    """
    here = os.open(path.anchor, FOLDER_FLAGS)
    try:
        for name in path.parent.parts[1:]:
            try:
                below = os.open(name, FOLDER_FLAGS, dir_fd=here)
            except OSError:
                if not make:
                    raise
                unlock(here)
                if exists(name, here):
                    set_aside(name, here)
                os.mkdir(name, dir_fd=here)
                below = os.open(name, FOLDER_FLAGS, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def hold_back(path: Path) -> str:
    """Give a file another name, which git does not look for; not to be run. That name. Raises `OSError`."""
    with folder_of(path) as folder:
        unlock(folder)
        return set_aside(path.name, folder)


def set_aside(name: str, folder: int) -> str:
    """`hold_back` for a name in a folder."""
    aside = name + HELD_BACK
    try:
        with contextlib.suppress(FileNotFoundError):
            _remove(aside, folder)
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        # What stands there cannot be removed, or the name would be too long.
        aside = f"{secrets.token_hex(_NAME_BYTES)}{HELD_BACK}"
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    with contextlib.suppress(OSError):
        handle = os.open(aside, _READ_FLAGS, dir_fd=folder)
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                os.fchmod(handle, _UNRUN_MODE)
        finally:
            os.close(handle)
    return aside


def listed(path: Path) -> list[str]:
    """The names in a folder, which a command may have forbidden to list. Raises `OSError`."""
    try:
        return os.listdir(path)
    except PermissionError:
        unlock_folder(path)
        return os.listdir(path)


def unlock_folder(path: Path) -> None:
    """`unlock` for a folder by its path. Raises `OSError`."""
    with folder_of(path / path.name) as folder:
        unlock(folder)


def unlock(folder: int) -> None:
    """Take back what a command forbade of a folder that is the user's: to list it, to enter it, to change it."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        with contextlib.suppress(OSError):
            # An `O_PATH` handle does not take fchmod.
            where = f"/proc/self/fd/{folder}"
            os.chmod(where if os.path.exists(where) else folder, mode | stat.S_IRWXU)


def put_file(path: Path, data: bytes, mode: int) -> None:
    """Make a path a file. What is there is removed, or set aside if it is a folder. Raises `OSError`."""
    with _cleared(path) as folder:
        handle = os.open(path.name, _WRITE_FLAGS, _UNRUN_MODE, dir_fd=folder)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fchmod(handle, mode)
        finally:
            os.close(handle)


def put_link(path: Path, target: bytes) -> None:
    """Make a path a link, as `put_file`."""
    with _cleared(path) as folder:
        os.symlink(target, os.fsencode(path.name), dir_fd=folder)


def put_folder(path: Path, mode: int) -> None:
    """Make a path a folder, as `put_file`. One that is there stays."""
    with folder_of(path, make=True) as folder:
        unlock(folder)
        if exists(path.name, folder):
            if stat.S_ISDIR(os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode):
                return
            os.unlink(path.name, dir_fd=folder)
        os.mkdir(path.name, mode, dir_fd=folder)


def exists(name: str, folder: int) -> bool:
    """Whether anything has this name in a folder, a link that leads nowhere too."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _cleared(path: Path) -> Generator[int]:
    with folder_of(path, make=True) as folder:
        unlock(folder)
        if exists(path.name, folder):
            if stat.S_ISDIR(os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode):
                set_aside(path.name, folder)
            else:
                os.unlink(path.name, dir_fd=folder)
        yield folder


def _remove(name: str, folder: int) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)
