"""What a look at a work tree tells, and how much of it is kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from pool.sessions.checkpoints.states import Changed
from pool_tools.frozen import frozen

NAMED_MOST = 20
"""Skipped files that are named; the others are counted."""


@frozen
class Limits:
    """What is kept at most. copied_files and copied_bytes hold for each look, all_bytes for the session.

    untracked: files and folders outside an index that are looked at. verify_seconds: how long the first look may read
    tracked files to see whether they are what git holds; of the rest git's own stat data is believed. secured: files
    that one command may change whose earlier contents are copied from git at once; of the rest git keeps them.
    """

    file_bytes: int = 16 * 1024 * 1024
    copied_files: int = 5_000
    copied_bytes: int = 128 * 1024 * 1024
    all_bytes: int = 1024 * 1024 * 1024
    untracked: int = 20_000
    outside_git: int = 5_000
    verify_seconds: float = 15.0
    secured: int = 5_000


@dataclass(slots=True)
class Skipped:
    """What is not kept: some paths with the reason, and how many there are."""

    named: list[str] = field(default_factory=list[str])
    count: int = 0

    def add(self, path: str, why: str) -> None:
        self.count += 1
        if len(self.named) < NAMED_MOST:
            self.named.append(f"{path}: {why}")


@frozen
class Look:
    """What a look found: changes, how many contents were copied for it and their bytes, and what was skipped.

    folders are new ones, each ending in `/`; whole says that everything was gone through.
    """

    changes: list[Changed]
    copied: int
    copied_bytes: int
    skipped: Skipped
    seconds: float
    folders: tuple[str, ...] = ()
    whole: bool = False


class Stopped(Exception):
    """The first look was given up, since nobody needs it any more."""
