"""Putting files back, each at once and through handles: no link is followed, nothing half written is ever left.

A file is written beside its place under a name that the journal knows, synced, and renamed. Before each step the file
is looked at once more; one that changed meanwhile is left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pool.sessions.checkpoints.beneath import FOLDER_FLAGS, parent_of
from pool.sessions.checkpoints.present import state_now
from pool.sessions.checkpoints.states import Changed, State, changed_from
from pool_tools.atomic import sync_folder
from pool_tools.frozen import frozen

_FOLDER_MODE = 0o777
_READ_MOST = 64 * 1024 * 1024


@frozen
class Failure:
    """A file that was not put back, and why."""

    path: str
    why: str


def temporary(number: int, at: int) -> str:
    """The name under which step at of undo number writes a file before it takes its place."""
    return f".pool-undo-{number}-{at}"


def put_back(
    root: Path,
    number: int,
    changes: list[Changed],
    contents: Callable[[State], bytes],
    folders: Iterable[str],
) -> tuple[list[int], list[Failure]]:
    """Make each change: its `before` is what must be there now, its `after` what shall be.

    Removals come first, the deepest first; folders (each ending in `/`) go if they are empty then. Returns the numbers
    of the changes that were made, and what was not. contents raises for bytes that cannot be had.
    """
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    order = sorted(range(len(changes)), key=lambda i: (changes[i].after is not None, _depth(changes[i])))
    done: list[int] = []
    failures: list[Failure] = []
    try:
        for at in order:
            change = changes[at]
            try:
                _step(handle, change, temporary(number, at), contents)
                done.append(at)
            except OSError as error:
                failures.append(Failure(change.path, str(error.strerror or error)))
            except Exception as error:
                failures.append(Failure(change.path, str(error)))
            if change.after is None:
                _remove_empty(handle, folders)
        _remove_empty(handle, folders)
    finally:
        os.close(handle)
    return sorted(done), failures


def leftovers(root: Path, begun: dict[str, Any]) -> list[int]:
    """After a kill: remove temporary files of an undo and say which of its changes were made."""
    done: list[int] = []
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for at, row in enumerate(begun["items"]):
            change = changed_from(row)
            with contextlib.suppress(OSError), parent_of(handle, change.path) as (folder, _):
                os.unlink(temporary(int(begun["n"]), at), dir_fd=folder)
            now = state_now(handle, change.path, change.after.key if change.after else "", _READ_MOST)
            if now == change.after or (now is not None and now.same(change.after)):
                done.append(at)
    finally:
        os.close(handle)
    return done


class Refused(Exception):
    """A step that would lose something. The message says what."""


def _step(root: int, change: Changed, temp: str, contents: Callable[[State], bytes]) -> None:
    before, after = change.before, change.after
    data = contents(after) if after is not None else b""
    _check(root, change)
    if after is None:
        with parent_of(root, change.path) as (folder, name):
            os.unlink(name, dir_fd=folder)
            sync_folder(folder)
        return
    if before is not None and before.key == after.key and not after.is_link and not before.is_link:
        _set_mode(root, change.path, after.mode)
        return
    folder, name = _made_parent(root, change.path)
    try:
        _write(folder, temp, after, data)
        try:
            _check(root, change)
            if before is None and _is_empty_folder(folder, name):
                os.rmdir(name, dir_fd=folder)
            os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temp, dir_fd=folder)
            raise
        sync_folder(folder)
    finally:
        os.close(folder)


def _check(root: int, change: Changed) -> None:
    """Raise `Refused` unless what is there is what the plan saw."""
    now = state_now(root, change.path, change.before.key if change.before else "", _READ_MOST)
    if change.before is None and now is None:
        return
    if now is None or not now.same(change.before):
        raise Refused("it changed at this moment")


def _write(folder: int, temp: str, state: State, data: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temp, dir_fd=folder)
    if state.is_link:
        os.symlink(os.fsdecode(data), temp, dir_fd=folder)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temp, flags, 0o600, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fchmod(handle, stat.S_IMODE(state.mode))
        os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temp, dir_fd=folder)
        raise
    finally:
        os.close(handle)


def _set_mode(root: int, path: str, mode: int) -> None:
    with parent_of(root, path) as (folder, name):
        handle = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            # Through the handle, so that a link that takes the place now is not followed.
            os.chmod(f"/proc/self/fd/{handle}" if hasattr(os, "O_PATH") else handle, stat.S_IMODE(mode))
        finally:
            os.close(handle)


def _made_parent(root: int, path: str) -> tuple[int, str]:
    *names, name = path.split("/")
    here = os.dup(root)
    for folder in names:
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, _FOLDER_MODE, dir_fd=here)
                sync_folder(here)
            below = os.open(folder, FOLDER_FLAGS, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here, name


def _is_empty_folder(folder: int, name: str) -> bool:
    try:
        handle = os.open(name, FOLDER_FLAGS, dir_fd=folder)
    except OSError:
        return False
    try:
        if os.listdir(handle):
            raise Refused("a folder has taken its place, with other files in it")
        return True
    finally:
        os.close(handle)


def _remove_empty(root: int, folders: Iterable[str]) -> None:
    for path in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError), parent_of(root, path.rstrip("/")) as (folder, name):
            os.rmdir(name, dir_fd=folder)


def _depth(change: Changed) -> int:
    depth = change.path.count("/")
    return depth if change.after is not None else -depth
