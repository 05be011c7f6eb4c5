"""Replacing a file at once: temporary file beside it, synced, renamed over it, folder synced."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

from pool_tools.blocking import CancelFlag
from pool_tools.paths import FOLDER_FLAGS

NEW_FILE_MODE = 0o666
NEW_FOLDER_MODE = 0o777
_TEMP_BYTES = 6


def replace_file(folder: int, name: str, data: bytes, old: os.stat_result | None, flag: CancelFlag) -> os.stat_result:
    """Give the file name in the folder (a handle) the content data.

    An existing file's mode, owner and extended attributes are kept as far as permitted. Either the whole of data is
    there afterwards or the file is as it was. Raises `OSError`, or `Cancelled` before anything was changed.
    """
    temp = f".tmp-{secrets.token_hex(_TEMP_BYTES)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temp, flags, NEW_FILE_MODE if old is None else stat.S_IRUSR | stat.S_IWUSR, dir_fd=folder)
    try:
        try:
            _write_all(handle, data)
            if old is not None:
                _take_over(handle, folder, name, old)
            os.fsync(handle)
        finally:
            os.close(handle)
        flag.check()
        os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temp, dir_fd=folder)
        raise
    sync_folder(folder)
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _take_over(handle: int, folder: int, name: str, old: os.stat_result) -> None:
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            _copy_attributes(handle, folder, name)


def _copy_attributes(handle: int, folder: int, name: str) -> None:
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        for attribute in os.listxattr(source):
            with contextlib.suppress(OSError):
                os.setxattr(handle, attribute, os.getxattr(source, attribute))
    finally:
        os.close(source)


def sync_folder(folder: int) -> None:
    """Make names in the folder durable, where the file system can. folder may be an `O_PATH` handle."""
    with contextlib.suppress(OSError):
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folders(folder: int, names: tuple[str, ...]) -> int:
    """Make the folders names below each other, starting in folder; returns a handle of the last."""
    here = os.dup(folder)
    for name in names:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, NEW_FOLDER_MODE, dir_fd=here)
            sync_folder(here)
        try:
            below = os.open(name, FOLDER_FLAGS, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here
