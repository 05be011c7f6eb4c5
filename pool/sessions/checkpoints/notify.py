"""Being told by the kernel which files were touched (Linux, inotify), so that a tree need not be read again and again.

Only names are taken from it; what is at them is looked at afterwards. Where it is missing, or lost count, everything is
looked at instead. A file that is written through a shared mapping counts as touched when the mapping ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

WATCHED_SHARE = 0.5
"""Share of the watches that the system grants a user which one tree may take."""

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400
_Q_OVERFLOW, _IGNORED, _IS_FOLDER = 0x4000, 0x8000, 0x40000000
_ONLY_FOLDER, _NOT_UNLINKED = 0x01000000, 0x04000000
_WANTED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDER | _NOT_UNLINKED
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1024 * 1024
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")


@dataclass(slots=True)
class Touched:
    """Paths of files, and of folders that came, went or moved. everything: the kernel lost count."""

    files: set[str] = field(default_factory=set[str])
    folders: set[str] = field(default_factory=set[str])
    everything: bool = False


class Watcher:
    """Watches folders, each by a handle and its path ("" or one that ends in `/`)."""

    def __init__(self) -> None:
        """Raises `OSError` where the system has no inotify or grants no more of it."""
        if not sys.platform.startswith("linux"):
            raise OSError("no inotify")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._handle = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self._paths: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._most = _granted()

    def add(self, folder: int, path: str) -> None:
        """Watch a folder from now on. Raises `OSError` if that cannot be."""
        if len(self._paths) >= self._most:
            raise OSError("too many folders")
        # By the handle: a path could lead elsewhere by now.
        number = self._libc.inotify_add_watch(self._handle, f"/proc/self/fd/{folder}".encode(), _WANTED)
        if number < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        old = self._paths.get(number)
        if old is not None and self._numbers.get(old) == number:
            del self._numbers[old]
        self._paths[number] = path
        self._numbers[path] = number

    def forget(self, path: str) -> None:
        """Watch no folder at or below path (which ends in `/`) any more."""
        for below in [p for p in self._numbers if p.startswith(path)]:
            number = self._numbers.pop(below)
            if self._paths.get(number) == below:
                del self._paths[number]
                self._libc.inotify_rm_watch(self._handle, number)

    def take(self) -> Touched:
        """What was touched since the last call."""
        out = Touched()
        while True:
            try:
                data = os.read(self._handle, _READ_BYTES)
            except BlockingIOError:
                return out
            self._sort(data, out)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._handle)

    def _sort(self, data: bytes, out: Touched) -> None:
        at = 0
        while at < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
            at += _EVENT.size + length
            if mask & _Q_OVERFLOW:
                out.everything = True
            folder = self._paths.get(number)
            if folder is None or not name:
                continue
            path = folder + os.fsdecode(name)
            if not mask & _IS_FOLDER:
                out.files.add(path)
            elif mask & (_MOVED_FROM | _MOVED_TO | _CREATE | _DELETE):
                out.folders.add(path)


def _granted() -> int:
    try:
        return int(int(_LIMIT.read_text()) * WATCHED_SHARE)
    except (OSError, ValueError):
        return 0
