"""What was at a path: the vocabulary of checkpoints.

A key names contents: `c` and a BLAKE2b hash for bytes in Pool's own store, `o` and a git object id for bytes that git's
object folder holds just as they are in the file, "" for contents that are not kept.
"""

from __future__ import annotations

import os
import stat
from enum import StrEnum
from typing import Any

from pool_tools.frozen import frozen

Sig = tuple[int, int, int, int, int]
"""Mode, size, mtime in ns, change time in ns and inode: equal ones mean that a file was not touched."""


def sig_of(found: os.stat_result) -> Sig:
    """What is compared to see whether a file was touched. The change time cannot be set back by a program."""
    return found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


class Kind(StrEnum):
    """What a path went through."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


@frozen
class State:
    """A file or link. mode is all of `st_mode`; of a link the contents are its target."""

    key: str
    mode: int
    size: int

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)

    def same(self, other: State | None) -> bool:
        """Whether contents, kind and permissions are known to be equal."""
        return other is not None and bool(self.key) and (self.key, self.mode) == (other.key, other.mode)

    def row(self) -> list[Any]:
        return [self.key, self.mode, self.size]


@frozen
class Changed:
    """A path that changed between two looks. None: nothing was, or is, there. path is relative to the workspace."""

    path: str
    before: State | None
    after: State | None

    @property
    def kind(self) -> Kind:
        if self.before is None:
            return Kind.CREATED
        return Kind.DELETED if self.after is None else Kind.MODIFIED

    def row(self) -> list[Any]:
        """For JSON."""
        return [self.path, self.before and self.before.row(), self.after and self.after.row()]


def state_from(row: Any) -> State | None:
    """The state that a row says. Raises `ValueError` or `TypeError` for anything else."""
    if row is None:
        return None
    key, mode, size = row
    return State(str(key), int(mode), int(size))


def changed_from(row: Any) -> Changed:
    """The change that a row says. Raises as `state_from` does."""
    path, before, after = row
    return Changed(str(path), state_from(before), state_from(after))
