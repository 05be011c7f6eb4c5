"""Watching what a running command does to the machine: disk, memory and processes. Looking costs some 50 µs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pool_tools.sandbox.bounds import Bounds, threads_running

MIB, GIB = 1024**2, 1024**3

DISK_SHARE = 0.05
DISK_LEAST_BYTES = 512 * MIB
DISK_MOST_BYTES = 2 * GIB
"""A command is ended when less than this share of a disk is free: at least and at most so many bytes, and never more
than a quarter of the disk."""

DISK_USED_BYTES = 16 * MIB
MEMORY_USED_BYTES = 256 * MIB
"""A command that found things short is ended only if they got shorter by this much: one may be there to tidy up."""


@dataclass(frozen=True, slots=True)
class _Disk:
    folder: Path
    free: int
    floor: int


class Watch:
    """Remembers how things were when a command began. folders: where it can write."""

    def __init__(self, folders: Iterable[Path], bounds: Bounds) -> None:
        self._bounds = bounds
        self._disks = list(_disks(folders))
        self._memory = _available_memory()
        self._processes = threads_running()

    def breach(self) -> str:
        """Why the command must end now, "" if it need not."""
        for disk in self._disks:
            free = _free(disk.folder)
            if free < disk.floor and disk.free - free >= DISK_USED_BYTES:
                return f"the disk is nearly full, {free // MIB} MiB are left"
        available, kept = _available_memory(), self._bounds.memory_kept
        if available < kept and self._memory - available >= MEMORY_USED_BYTES:
            return f"memory is short, {available // MIB} MiB are left of the {kept // MIB} MiB kept for other programs"
        if threads_running() - self._processes > self._bounds.processes:
            return f"it started more than {self._bounds.processes} processes"
        return ""


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


def _available_memory() -> int:
    """Bytes that programs can still take without others being pushed out; very many where that is not told."""
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 1 << 62
