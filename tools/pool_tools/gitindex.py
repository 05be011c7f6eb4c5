"""Reading an index of git, to tell which files a repository keeps, without running git.

The format is git's own (`gitformat-index`): versions 2 to 4, object names of 20 or 32 bytes, split indexes.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 64 * 1024 * 1024
"""Larger indexes are not read."""

_HEADER = struct.Struct(">4sII")
_STAT_BYTES, _FLAG_BYTES = 40, 2
_EXTENDED = 0x4000
_ALIGNED = 8
_POINTER = "gitdir:"
_POINTER_BYTES = 4096


class Unreadable(Exception):
    """An index is too large to be looked into."""


def keeps(dot_git: Path, name: bytes) -> frozenset[bytes]:
    """The objects, with content, that the index of the repository with that `.git` has for a name in the work tree.

    Empty where there is no index that git could read either. Raises `Unreadable`.
    """
    folder = git_folder(dot_git)
    if folder is None:
        return frozenset()
    shared = (folder / entry for entry in _names(folder) if entry.startswith("sharedindex."))
    return frozenset(found for path in (folder / "index", *shared) for found in _objects(path, name))


def object_names(data: bytes) -> frozenset[bytes]:
    """What git calls a file with that content, in repositories of either kind."""
    blob = b"blob %d\0%b" % (len(data), data)
    return frozenset({hashlib.sha1(blob).digest(), hashlib.sha256(blob).digest()})


def repository_of(path: str) -> str | None:
    """The nearest folder above an absolute path that holds a `.git`."""
    folder = os.path.dirname(path)
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def git_folder(dot_git: Path) -> Path | None:
    """The git folder that a `.git` is or names, whether it is there or not; None where that is none."""
    if os.path.isdir(dot_git):
        return dot_git
    text = os.fsdecode(_read(dot_git, _POINTER_BYTES))
    target = text.removeprefix(_POINTER).strip()
    return dot_git.parent / target if text.startswith(_POINTER) and "\0" not in target else None


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _objects(path: Path, name: bytes) -> list[bytes]:
    data = _read(path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Unreadable(f"{path} is too large")
    for id_bytes in (20, 32):
        try:
            found = [object_id for entry, object_id in _entries(data, id_bytes) if entry == name]
            return [object_id for object_id in found if object_id not in object_names(b"")]
        except (ValueError, IndexError, struct.error):
            continue
    return []


def _read(path: Path, most: int) -> bytes:
    """A regular file's first bytes; nothing where there is none, or it may not be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        with open(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)


def _entries(data: bytes, id_bytes: int) -> Iterator[tuple[bytes, bytes]]:
    """Name and object of each entry. Raises `ValueError`, `IndexError` or `struct.error` where the form is another."""
    magic, version, count = _HEADER.unpack_from(data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index")
    at, name = _HEADER.size, b""
    for _ in range(count):
        begin = at
        object_id = data[at + _STAT_BYTES : at + _STAT_BYTES + id_bytes]
        at += _STAT_BYTES + id_bytes
        (flags,) = struct.unpack_from(">H", data, at)
        at += _FLAG_BYTES * (2 if flags & _EXTENDED else 1)
        kept = b""
        if version == 4:
            drop, at = _varint(data, at)
            kept = name[: len(name) - drop]
        end = data.index(b"\0", at)
        before, name = name, kept + data[at:end]
        if name < before:
            raise ValueError("not in order")
        # Up to version 3 an entry is filled with one to eight NULs.
        at = end + 1 if version == 4 else begin + (end - begin + _ALIGNED) // _ALIGNED * _ALIGNED
        yield name, object_id


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as git's `encode_varint` writes it, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
