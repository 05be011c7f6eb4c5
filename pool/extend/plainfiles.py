"""Files below a folder that a checkout may have filled: opened without links that lead out, listed within bounds."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from pool_tools.frozen import frozen

MOST_FILES = 300
MOST_BYTES = 8 * 1024 * 1024
MOST_DEPTH = 8
"""Bounds of one folder with all that lies in it: files, their bytes together, and folders in folders."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CHUNK_BYTES = 256 * 1024


class FileFault(Exception):
    """A file that is not read. The message says why, without naming it."""


@frozen
class Listing:
    """What lies in a folder: paths relative to it with their bytes, and why it cannot be used as a whole, if so."""

    files: tuple[tuple[str, int], ...] = ()
    faults: tuple[str, ...] = ()


def has_controls(text: str) -> bool:
    """Whether a text holds characters that a terminal or a reader could take for something else.

    Among them are the halves of characters by which Python stands for the bytes of a name that is no UTF-8.
    """
    return bool(_CONTROL.search(text))


def shown(text: str) -> str:
    """A text with such characters replaced."""
    return _CONTROL.sub("?", text)


def read_within(folder: Path, name: str, most: int) -> str:
    """The text of a file by its path in the folder. Raises `FileFault`; FileNotFoundError if there is none."""
    parts = name.split("/")
    if not name or name.startswith("/") or ".." in parts or has_controls(name):
        raise FileFault("its path has to be one below the folder")
    top = os.path.realpath(folder)
    real = os.path.realpath(folder / name)
    if not Path(real).is_relative_to(top):
        raise FileFault("it is a link that leads out of the folder")
    data = _bytes(real, most)
    if b"\0" in data:
        raise FileFault("it is no text")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FileFault(f"it is no UTF-8 (byte {error.start})") from None


def listing(folder: Path) -> Listing:
    """All files below a folder, in order. Links within are left out, one that leads out is a fault."""
    files: list[tuple[str, int]] = []
    faults: list[str] = []
    total = 0
    for path, entry in _walk(folder, "", 0, faults):
        if entry.is_symlink():
            if not _stays(folder, entry.path):
                faults.append(f"{shown(path)} is a link that leads out of the folder")
            continue
        found = entry.stat(follow_symlinks=False)
        if has_controls(path):
            faults.append(f"{shown(path)}: its name has control characters")
        elif not stat.S_ISREG(found.st_mode):
            faults.append(f"{shown(path)} is no regular file")
        total += found.st_size
        files.append((path, found.st_size))
        if len(files) > MOST_FILES or total > MOST_BYTES:
            faults.append(f"it holds more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes")
            break
    return Listing(tuple(files), tuple(faults))


def digest(folder: Path, found: Listing) -> str:
    """A hash of the names, contents and execute bits of files. Raises OSError, `FileFault`."""
    whole = hashlib.sha256()
    for name, _ in found.files:
        path = folder / name
        runs = bool(path.lstat().st_mode & 0o111)
        one = hashlib.sha256(_bytes(str(path), MOST_BYTES)).hexdigest()
        whole.update(f"{name!r} {runs} {one}\n".encode())
    return whole.hexdigest()


def _walk(folder: Path, below: str, depth: int, faults: list[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    if depth > MOST_DEPTH:
        faults.append(f"{shown(below)}: folders lie more than {MOST_DEPTH} deep")
        return
    with os.scandir(folder / below) as entries:
        # One more than allowed is enough to know.
        items = sorted((entry for entry, _ in zip(entries, range(MOST_FILES + 1), strict=False)), key=lambda e: e.name)
    for entry in items:
        path = f"{below}/{entry.name}" if below else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder, path, depth + 1, faults)
        else:
            yield path, entry


def _stays(folder: Path, path: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _bytes(path: str, most: int) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise FileFault("it is no regular file")
        if found.st_size > most:
            raise FileFault(f"it is larger than {most:,} bytes")
        parts: list[bytes] = []
        size = 0
        while (data := os.read(handle, _CHUNK_BYTES)) and size <= most:
            parts.append(data)
            size += len(data)
        return b"".join(parts)
    finally:
        os.close(handle)
