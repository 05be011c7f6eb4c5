"""Kept contents: raw bytes by their key, in one append-only file per session.

A record is a header line `KEY LENGTH STORED\n` and the bytes, compressed. Keys are those of `states.py`. One file means
one sync for all that a checkpoint adds. A record that a crash tore is cut off when the file is opened again. Nobody but
the user can read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zlib
from pathlib import Path

from pool.sessions.checkpoints.gitobjects import object_id

DIGEST_BYTES = 20
COMPRESSION = 1
"""zlib's level: the quickest."""

_HEADER_BYTES = 128
_MODE = 0o600
_FOLDER_MODE = 0o700


def key_of(data: bytes) -> str:
    """The key of contents in Pool's own store."""
    return "c" + hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def git_key(data: bytes, oid_bytes: int) -> str:
    """The key of contents that git holds."""
    return "o" + object_id(b"blob", data, oid_bytes).hex()


def fits(key: str, data: bytes) -> bool:
    """Whether data are the contents of that key."""
    return key == (git_key(data, len(key) // 2) if key.startswith("o") else key_of(data))


class Damaged(Exception):
    """Kept bytes are not what they should be, or are not there."""


class Contents:
    """The contents that a session keeps. Not for several threads at once. Raises `OSError` where the disk fails."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """read_only: another process may be adding to it."""
        self._read_only = read_only
        if read_only:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        else:
            path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        self._places: dict[str, tuple[int, int]] = {}
        self._size = 0
        self._synced = True
        self.kept_bytes = 0
        self._take_up()

    def put(self, data: bytes, key: str = "") -> tuple[str, bool]:
        """Keep data, under its own key or the one that is given; that key, and whether it was new.

        On disk only after `sync`.
        """
        key = key or key_of(data)
        if key in self._places:
            return key, False
        packed = zlib.compress(data, COMPRESSION)
        header = f"{key} {len(data)} {len(packed)}\n".encode()
        try:
            self._write(header + packed)
        except OSError:
            # A full disk: what was half written is taken back.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._places[key] = (self._size + len(header), len(packed))
        self._size += len(header) + len(packed)
        self.kept_bytes += len(data)
        self._synced = False
        return key, True

    def get(self, key: str) -> bytes:
        """The contents of that key. Raises `Damaged` if they are not there or not sound."""
        if key not in self._places:
            raise Damaged("these contents were not kept")
        at, length = self._places[key]
        try:
            data = zlib.decompress(os.pread(self._file, length, at))
        except (zlib.error, OSError) as error:
            raise Damaged(f"kept contents are damaged: {error}") from None
        if not fits(key, data):
            raise Damaged("kept contents are damaged: they do not fit their hash")
        return data

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def sync(self) -> None:
        """Force everything to disk."""
        if not self._synced:
            os.fdatasync(self._file)
            self._synced = True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sync()
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        done = 0
        while done < len(data):
            done += os.pwrite(self._file, data[done:], self._size + done)

    def _take_up(self) -> None:
        """Find the records of an existing file; cut off what is no whole record."""
        end = os.fstat(self._file).st_size
        while self._size < end:
            head, found, _ = os.pread(self._file, _HEADER_BYTES, self._size).partition(b"\n")
            try:
                key, length, stored = head.decode("ascii").split(" ")
                at, size = self._size + len(head) + 1, int(stored)
                if not found or size < 0 or at + size > end:
                    break
                self._places[key] = (at, size)
                self.kept_bytes += int(length)
            except ValueError:
                break
            self._size = at + size
        if self._size < end and not self._read_only:
            os.ftruncate(self._file, self._size)
