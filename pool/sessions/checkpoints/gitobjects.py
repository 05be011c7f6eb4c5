"""Reading blobs, trees and commits from git's object folder: loose objects, packs, alternates.

Formats: gitformat-pack(5). Every object is checked against its id before it is believed. No git process runs, so
nothing that a checkout configures can have a say. Packs that were opened stay readable after their files are gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
import zlib
from pathlib import Path

from pool_tools.frozen import frozen

OBJECT_BYTES_MOST = 64 * 1024 * 1024
"""Larger objects are not read."""

CHAIN_MOST = 4_096
"""Deltas upon deltas that are followed; git itself makes 50."""

ALTERNATES_MOST = 16

_INDEX_MAGIC = b"\xfftOc"
_TYPES = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_OFFSET_DELTA, _REF_DELTA = 6, 7


class NoObject(Exception):
    """An object that is not there, is too large or is not what its id says."""


def object_id(kind: bytes, data: bytes, oid_bytes: int) -> bytes:
    """The id that git gives an object: SHA-1, or SHA-256 where ids have 32 bytes."""
    algorithm = hashlib.sha1 if oid_bytes == 20 else hashlib.sha256
    made = algorithm(b"%s %d\0" % (kind, len(data)))
    made.update(data)
    return made.digest()


class ObjectStore:
    """The objects of one repository."""

    def __init__(self, folder: Path, oid_bytes: int = 20) -> None:
        """folder is `objects` in the git folder; alternates are found from it."""
        self.oid_bytes = oid_bytes
        self._folders = _with_alternates(folder)
        self._packs: dict[Path, _Pack] = {}

    def open_packs(self) -> None:
        """Open all packs that are there, new ones too."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                for path in sorted((folder / "pack").glob("pack-*.idx")):
                    if path not in self._packs:
                        with contextlib.suppress(OSError, ValueError, struct.error):
                            self._packs[path] = _Pack(path, self.oid_bytes)

    def get(self, oid: bytes) -> tuple[bytes, bytes]:
        """Kind and data of an object. Raises `NoObject`."""
        try:
            found = self._packed(oid) or self._loose(oid)
            if found is None:
                self.open_packs()
                found = self._packed(oid)
        except (zlib.error, struct.error, IndexError, ValueError, OSError) as error:
            raise NoObject(f"object {oid.hex()} is damaged: {error}") from None
        if found is None:
            raise NoObject(f"object {oid.hex()} is not there")
        if object_id(*found, self.oid_bytes) != oid:
            raise NoObject(f"object {oid.hex()} is damaged")
        return found

    def blob(self, oid: bytes) -> bytes:
        """The data of a blob. Raises `NoObject`."""
        kind, data = self.get(oid)
        if kind != b"blob":
            raise NoObject(f"object {oid.hex()} is no file")
        return data

    def has(self, oid: bytes) -> bool:
        """Whether it is there, without reading it."""
        if any(pack.find(oid) is not None for pack in self._packs.values()):
            return True
        name = oid.hex()
        return any((folder / name[:2] / name[2:]).exists() for folder in self._folders)

    def close(self) -> None:
        for pack in self._packs.values():
            pack.close()
        self._packs.clear()

    def _loose(self, oid: bytes) -> tuple[bytes, bytes] | None:
        name = oid.hex()
        for folder in self._folders:
            try:
                raw = (folder / name[:2] / name[2:]).read_bytes()
            except OSError:
                continue
            unpacked = _inflate(raw, OBJECT_BYTES_MOST)
            head, _, data = unpacked.partition(b"\0")
            return head.split(b" ")[0], data
        return None

    def _packed(self, oid: bytes) -> tuple[bytes, bytes] | None:
        for pack in self._packs.values():
            at = pack.find(oid)
            if at is not None:
                return self._from_pack(pack, at)
        return None

    def _from_pack(self, pack: _Pack, at: int) -> tuple[bytes, bytes]:
        """Follow the deltas down to a whole object, then apply them upwards."""
        deltas: list[bytes] = []
        for _ in range(CHAIN_MOST):
            entry = pack.entry(at)
            if entry.kind in _TYPES:
                data = entry.data
                for delta in reversed(deltas):
                    data = _apply(delta, data)
                return _TYPES[entry.kind], data
            deltas.append(entry.data)
            if entry.kind == _OFFSET_DELTA:
                at -= entry.back
                continue
            below = pack.find(entry.base)
            if below is None:
                kind, data = self.get(entry.base)
                for delta in reversed(deltas):
                    data = _apply(delta, data)
                return kind, data
            at = below
        raise ValueError("too many deltas")


@frozen
class _Entry:
    kind: int
    data: bytes
    back: int = 0
    base: bytes = b""


class _Pack:
    """One pack with its index, both mapped."""

    def __init__(self, index: Path, oid_bytes: int) -> None:
        self._index = _mapped(index)
        self._pack = _mapped(index.with_suffix(".pack"))
        self._oid_bytes = oid_bytes
        if self._index[:8] != _INDEX_MAGIC + b"\0\0\0\2" or self._pack[:4] != b"PACK":
            raise ValueError("no pack of a known version")
        self._count = struct.unpack_from(">I", self._index, 8 + 255 * 4)[0]

    def find(self, oid: bytes) -> int | None:
        """Where an object lies in the pack."""
        first = oid[0]
        low = struct.unpack_from(">I", self._index, 8 + (first - 1) * 4)[0] if first else 0
        high = struct.unpack_from(">I", self._index, 8 + first * 4)[0]
        names = 8 + 1024
        while low < high:
            middle = (low + high) // 2
            at = names + middle * self._oid_bytes
            found = self._index[at : at + self._oid_bytes]
            if found == oid:
                return self._offset(middle)
            low, high = (middle + 1, high) if found < oid else (low, middle)
        return None

    def _offset(self, number: int) -> int:
        offsets = 8 + 1024 + self._count * (self._oid_bytes + 4)
        value = struct.unpack_from(">I", self._index, offsets + number * 4)[0]
        if value & 0x80000000:
            at = offsets + self._count * 4 + (value & 0x7FFFFFFF) * 8
            value = struct.unpack_from(">Q", self._index, at)[0]
        return value

    def entry(self, at: int) -> _Entry:
        """The entry there: a whole object or a delta."""
        start = at
        byte = self._pack[at]
        kind, size, shift = (byte >> 4) & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = self._pack[at]
            size |= (byte & 0x7F) << shift
            shift += 7
        at += 1
        if size > OBJECT_BYTES_MOST:
            raise ValueError("too large")
        back, base = 0, b""
        if kind == _OFFSET_DELTA:
            byte = self._pack[at]
            back = byte & 0x7F
            while byte & 0x80:
                at += 1
                byte = self._pack[at]
                back = ((back + 1) << 7) | (byte & 0x7F)
            at += 1
            if not 0 < back <= start:
                raise ValueError("a delta without a base")
        elif kind == _REF_DELTA:
            base = self._pack[at : at + self._oid_bytes]
            at += self._oid_bytes
        data = _inflate(memoryview(self._pack)[at:], size)
        return _Entry(kind, data, back, base)

    def close(self) -> None:
        for one in (self._index, self._pack):
            with contextlib.suppress(BufferError):
                one.close()


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


_PIECE_BYTES = 64 * 1024


def _inflate(raw: bytes | memoryview, most: int) -> bytes:
    """Unpack a zlib stream of at most most bytes (and a header's worth more)."""
    unpack = zlib.decompressobj()
    out: list[bytes] = []
    room, at = most + _HEADER_ROOM, 0
    while not unpack.eof:
        piece = unpack.unconsumed_tail or raw[at : at + _PIECE_BYTES]
        if not unpack.unconsumed_tail:
            at += _PIECE_BYTES
        if not piece:
            raise ValueError("it is cut short")
        part = unpack.decompress(piece, room)
        room -= len(part)
        out.append(part)
        if room <= 0:
            raise ValueError("too large")
    return b"".join(out)


_HEADER_ROOM = 64


def _apply(delta: bytes, base: bytes) -> bytes:
    """A delta applied to its base."""
    source, at = _size(delta, 0)
    target, at = _size(delta, at)
    if source != len(base) or target > OBJECT_BYTES_MOST:
        raise ValueError("a delta does not fit its base")
    out = bytearray()
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & 0x80:
            start = size = 0
            for bit in range(4):
                if code & 1 << bit:
                    start |= delta[at] << 8 * bit
                    at += 1
            for bit in range(3):
                if code & 0x10 << bit:
                    size |= delta[at] << 8 * bit
                    at += 1
            size = size or 0x10000
            out += base[start : start + size]
        elif code:
            out += delta[at : at + code]
            at += code
        else:
            raise ValueError("an unknown instruction in a delta")
        if len(out) > target:
            raise ValueError("a delta gives too much")
    return bytes(out)


def _size(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _with_alternates(folder: Path) -> list[Path]:
    out = [folder]
    for one in out:
        try:
            lines = (one / "info" / "alternates").read_bytes().splitlines()
        except OSError:
            continue
        for line in lines:
            path = Path(os.path.realpath(one / os.fsdecode(line)))
            if line and not line.startswith(b"#") and path not in out and len(out) < ALTERNATES_MOST:
                out.append(path)
    return out
