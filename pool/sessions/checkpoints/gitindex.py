"""Reading git's index file: which files are tracked, with the stat data and the object of each.

Format: gitformat-index(5), versions 2 to 4. Reading it needs no git process, takes no lock and changes nothing.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from pool_tools.frozen import frozen

INDEX_BYTES_MOST = 512 * 1024 * 1024
_SIGNATURE = b"DIRC"
_STAT = struct.Struct(">10I")
_EXTENDED = 0x4000
_STAGE = 0x3000
_NAME_LENGTH = 0xFFF
_GITLINK = 0o160000
_SPARSE_FOLDER = 0o040000
_SPLIT = b"link"


class UnreadableIndex(Exception):
    """An index that cannot be read. The message says why."""


@frozen
class Tracked:
    """One entry. size is modulo 2**32, as the format has it; oid is the raw hash of the blob."""

    mode: int
    size: int
    mtime: tuple[int, int]
    ino: int
    oid: bytes


@frozen
class Index:
    """The entries by path, and when the file was written, in ns. Submodules and conflicts are not among them."""

    entries: dict[str, Tracked]
    written_ns: int


def read_index(path: Path, oid_bytes: int) -> Index:
    """Read an index; one that does not exist is empty. Raises `UnreadableIndex`."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Index({}, 0)
    except OSError as error:
        raise UnreadableIndex(str(error.strerror)) from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > INDEX_BYTES_MOST:
            raise UnreadableIndex("it is no file, or too large")
        data = file.read()
    try:
        return Index(_entries(data, oid_bytes), found.st_mtime_ns)
    except (struct.error, IndexError, ValueError) as error:
        raise UnreadableIndex(f"it is damaged ({error})") from None


def _entries(data: bytes, oid_bytes: int) -> dict[str, Tracked]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != _SIGNATURE or version not in (2, 3, 4):
        raise UnreadableIndex(f"its version is unknown ({version})")
    out: dict[str, Tracked] = {}
    at, name = 12, b""
    fixed = _STAT.size + oid_bytes + 2
    for _ in range(count):
        start = at
        _, _, mtime, mtime_ns, _, ino, mode, _, _, size = _STAT.unpack_from(data, at)
        oid = data[at + _STAT.size : at + _STAT.size + oid_bytes]
        flags = (data[at + fixed - 2] << 8) | data[at + fixed - 1]
        at += fixed + (2 if flags & _EXTENDED else 0)
        if version == 4:
            cut, at = _varint(data, at)
            end = data.index(b"\0", at)
            name = name[: len(name) - cut] + data[at:end]
            at = end + 1
        else:
            length = flags & _NAME_LENGTH
            end = at + length if length < _NAME_LENGTH else data.index(b"\0", at)
            name = data[at:end]
            at = start + (end - start + 8) // 8 * 8
        if not flags & _STAGE and mode not in (_GITLINK, _SPARSE_FOLDER):
            out[os.fsdecode(name)] = Tracked(mode, size, (mtime, mtime_ns), ino, oid)
    if _SPLIT in _extensions(data, at, oid_bytes):
        raise UnreadableIndex("it is a split index")
    return out


def _extensions(data: bytes, at: int, oid_bytes: int) -> list[bytes]:
    """The names of the extensions, which stand between the entries and a checksum."""
    out: list[bytes] = []
    while at + 8 <= len(data) - oid_bytes:
        name, size = struct.unpack_from(">4sI", data, at)
        out.append(name)
        at += 8 + size
    return out


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number as in pack offsets, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
