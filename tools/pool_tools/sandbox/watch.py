"""Watching what a running command does to the machine: disk, memory and processes. Looking costs some 50 µs.

Memory is watched by what is available on the machine: what a tmpfs or a GPU that shares it takes shows nowhere else.
Which command to end is then told by what its own processes hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.sandbox.bounds import Bounds, threads_running
from pool_tools.supervisor import descendants

MIB, GIB = 1024**2, 1024**3

DISK_SHARE = 0.05
DISK_LEAST_BYTES = 512 * MIB
DISK_MOST_BYTES = 2 * GIB
"""A command is ended when less than this share of a disk is free: at least and at most so many bytes, and never more
than a quarter of the disk."""

DISK_USED_BYTES = 16 * MIB
MEMORY_USED_BYTES = 256 * MIB
"""A command that found things short is ended only if they got shorter by this much: one may be there to tidy up.
Of memory this much must be held by its own processes."""

MEMORY_LEAST_BYTES = GIB
"""So much a command may always take of what is available, or half of it where there is less than twice as much."""


@frozen
class _Disk:
    folder: Path
    free: int
    floor: int


class Watch:
    """Remembers how things were when a command began. folders: where it can write."""

    def __init__(self, folders: Iterable[Path], bounds: Bounds) -> None:
        self._bounds = bounds
        self._disks = list(_disks(folders))
        self._memory = available_memory()
        self._kept = min(bounds.memory_kept, self._memory - min(MEMORY_LEAST_BYTES, self._memory // 2))
        self._processes = threads_running()
        self._oom_kills = _oom_kills()

    def breach(self, launcher: int) -> str:
        """Why the command must end now, "" if it need not. launcher: id of the process below which all of it runs."""
        for disk in self._disks:
            free = _free(disk.folder)
            if free < disk.floor and disk.free - free >= DISK_USED_BYTES:
                return f"the disk is nearly full, {free // MIB} MiB are left"
        if short := self._memory_is_short(launcher):
            return short
        if threads_running() - self._processes > self._bounds.processes:
            return f"it started more than {self._bounds.processes} processes"
        return ""

    def memory_ran_out(self) -> bool:
        """Whether the kernel killed anything for want of memory since: then perhaps what was watched."""
        return _oom_kills() > self._oom_kills

    def _memory_is_short(self, launcher: int) -> str:
        available = available_memory()
        if available >= self._kept:
            return ""
        used = _held(launcher)
        # What fills a tmpfs or a GPU's part of the memory is in no process's own count.
        unseen = available < self._kept // 2 and self._memory - available >= MEMORY_USED_BYTES
        if used < MEMORY_USED_BYTES and not unseen:
            return ""
        return (
            f"memory is short: its processes held {used // MIB} MiB, and {available // MIB} MiB were left of the "
            f"{self._kept // MIB} MiB that are kept for the model server and other programs"
        )


def _held(launcher: int) -> int:
    """Bytes of memory, swapped out or not, that the processes below launcher hold. Shared pages count for each."""
    total = 0
    for pid in (launcher, *descendants(launcher)):
        try:
            with open(f"/proc/{pid}/status", "rb") as file:
                lines = [line.split() for line in file if line.startswith((b"VmRSS:", b"VmSwap:"))]
        except OSError:
            continue
        total += sum(int(fields[1]) * 1024 for fields in lines)
    return total


def _disks(folders: Iterable[Path]) -> Iterable[_Disk]:
    seen: set[int] = set()
    for folder in folders:
        try:
            device = folder.stat().st_dev
            found = os.statvfs(folder)
        except OSError:
            continue
        if device not in seen:
            seen.add(device)
            size = found.f_blocks * found.f_frsize
            floor = min(max(int(size * DISK_SHARE), DISK_LEAST_BYTES), DISK_MOST_BYTES, size // 4)
            yield _Disk(folder, found.f_bavail * found.f_frsize, floor)


def _free(folder: Path) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return DISK_MOST_BYTES
    return found.f_bavail * found.f_frsize


def _oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since it started."""
    try:
        with open("/proc/vmstat", "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"oom_kill ")), 0)
    except (OSError, ValueError, IndexError):
        return 0


def available_memory() -> int:
    """Bytes that programs can still take without others being pushed out; very many where that is not told."""
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 1 << 62
