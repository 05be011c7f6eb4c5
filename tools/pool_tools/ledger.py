"""What an agent has been shown of each file, by content: the ground on which edits and overwrites are allowed."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from enum import Enum

from pool_tools.frozen import frozen

KEPT_BYTES_EACH = 128 * 1024
KEPT_BYTES_ALL = 8 * 1024 * 1024
"""Contents up to these sizes are kept, so that a change by a command can be told as a diff."""

DIGEST_BYTES = 16


class Knowledge(Enum):
    """How current an agent's picture of a file is."""

    UNSEEN = "unseen"
    STALE = "stale"
    PART = "part"
    WHOLE = "whole"


def digest(data: bytes) -> bytes:
    """The content hash that the ledger compares (BLAKE2b)."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


@frozen
class Seen:
    """One file as last shown. ranges are the shown lines, first to last, merged; content is None if not kept.

    stamp is (size, mtime in ns, inode) at that time: equal stamps spare reading the file again.
    """

    digest: bytes
    stamp: tuple[int, int, int]
    total: int
    ranges: tuple[tuple[int, int], ...]
    content: bytes | None = None

    @property
    def whole(self) -> bool:
        return self.total == 0 or self.ranges == ((1, self.total),)


class Ledger:
    """Per agent: real path of a file -> what of it was shown. Safe to use from several threads."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._kept = 0
        self._lock = threading.RLock()

    def knowledge(self, path: str, data: bytes) -> Knowledge:
        """What is known of the file at path, whose bytes now are data."""
        seen = self._seen.get(path)
        if seen is None:
            return Knowledge.UNSEEN
        if seen.digest != digest(data):
            return Knowledge.STALE
        return Knowledge.WHOLE if seen.whole else Knowledge.PART

    def show(
        self, path: str, data: bytes, stamp: tuple[int, int, int], total: int, shown: list[tuple[int, int]]
    ) -> None:
        """Lines of the file were shown: ranges of numbers from 1, out of total. Adds to what is known of it."""
        key = digest(data)
        with self._lock:
            seen = self._seen.get(path)
            ranges = [*seen.ranges, *shown] if seen and seen.digest == key else shown
            self._set(path, Seen(key, stamp, total, _merged(ranges), data))

    def wrote(self, path: str, data: bytes, stamp: tuple[int, int, int], total: int, whole: bool) -> None:
        """The agent's own tool wrote the file. whole: it knows all of the new content."""
        ranges = ((1, total),) if whole and total else ()
        with self._lock:
            self._set(path, Seen(digest(data), stamp, total, ranges, data))

    def restamp(self, path: str, stamp: tuple[int, int, int]) -> None:
        """The file was touched, its content is as before."""
        with self._lock:
            if path in self._seen:
                self._seen[path] = replace(self._seen[path], stamp=stamp)

    def forget(self, path: str) -> None:
        """The file is gone."""
        with self._lock:
            self._drop(path)

    def clear(self) -> None:
        """Nothing counts as shown any more: the conversation was compacted."""
        with self._lock:
            self._seen.clear()
            self._kept = 0

    def entries(self) -> dict[str, Seen]:
        """All files and what is known of them."""
        with self._lock:
            return dict(self._seen)

    def _set(self, path: str, seen: Seen) -> None:
        self._drop(path)
        content = seen.content or b""
        if len(content) > KEPT_BYTES_EACH or self._kept + len(content) > KEPT_BYTES_ALL:
            seen = replace(seen, content=None)
        else:
            self._kept += len(content)
        self._seen[path] = seen

    def _drop(self, path: str) -> None:
        seen = self._seen.pop(path, None)
        if seen and seen.content:
            self._kept -= len(seen.content)


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    for first, last in sorted(r for r in ranges if r[0] <= r[1]):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return tuple(out)
