"""What is at a path now, and the bytes of what was there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from pool.sessions.checkpoints.beneath import parent_of, read_at, state_of
from pool.sessions.checkpoints.contents import Contents, Damaged, git_key, key_of
from pool.sessions.checkpoints.gitindex import Tracked
from pool.sessions.checkpoints.gitobjects import NoObject
from pool.sessions.checkpoints.states import State
from pool.sessions.checkpoints.walk import Scope, is_kept


def state_now(root: int, path: str, like: str, limit: int) -> State | None:
    """What is at path below root, with the same kind of key as like, so that both can be compared."""
    found = state_of(root, path)
    if found is None or not is_kept(found.st_mode):
        return None
    try:
        with parent_of(root, path) as (folder, name):
            read = read_at(folder, name, limit)
    except OSError:
        read = None
    if read is None:
        return State("", found.st_mode, found.st_size)
    data, found = read
    key = git_key(data, len(like) // 2) if like.startswith("o") else key_of(data)
    return State(key, found.st_mode, found.st_size)


def bytes_of(state: State, contents: Contents, scopes: Iterable[Scope]) -> bytes:
    """The contents of a state, from Pool's store or from git. Raises `Damaged` if they cannot be had."""
    if not state.key:
        raise Damaged("these contents were not kept")
    if state.key in contents:
        return contents.get(state.key)
    why = "these contents were not kept"
    for scope in scopes:
        if scope.objects is None or not state.key.startswith("o"):
            continue
        try:
            data = scope.objects.blob(bytes.fromhex(state.key[1:]))
        except NoObject as error:
            why = f"git does not hold them any more ({error})"
            continue
        if len(data) != state.size:
            raise Damaged("git holds them in another form only")
        return data
    raise Damaged(why)


def unchanged(tracked: Tracked, found: os.stat_result) -> bool:
    """Whether a file is as git last saw it, by its stat data."""
    seconds, nanoseconds = divmod(found.st_mtime_ns, 1_000_000_000)
    return (
        tracked.size == found.st_size & 0xFFFFFFFF
        and tracked.mtime[0] == seconds & 0xFFFFFFFF
        and tracked.mtime[1] in (0, nanoseconds)
        and tracked.ino in (0, found.st_ino & 0xFFFFFFFF)
        and stat.S_IFMT(tracked.mode) == stat.S_IFMT(found.st_mode)
    )
