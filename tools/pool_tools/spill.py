"""Keeping the whole of an output that is too long to be shown, in a file that later commands can read."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import deque
from collections.abc import Callable

from pool_tools.scratch import Scratch

SPILL_BYTES = 64 * 1024 * 1024
"""Most of one output that is kept; the rest is dropped."""

SPILLS_KEPT = 8
"""Outputs of one session that are kept, its last ones."""


class Spill:
    """Takes the text of one output; makes a file once there is more than threshold characters of it.

    path is how commands call the file, "" while there is none; whole says that nothing of the output is missing in it.
    """

    def __init__(self, threshold: int, make: Callable[[], tuple[int, str]]) -> None:
        """make opens a new file: a descriptor to write to, and how commands call it."""
        self._threshold = threshold
        self._make = make
        self._waiting: list[str] = []
        self._chars = 0
        self._handle = -1
        self._bytes = 0
        self.path = ""
        self.whole = True

    def add(self, text: str) -> None:
        """Add text. A disk that is full ends the file, not the command."""
        self._chars += len(text)
        if not self.whole:
            return
        if self._handle < 0:
            self._waiting.append(text)
            if self._chars <= self._threshold:
                return
            text = "".join(self._waiting)
            self._waiting.clear()
        data = text.encode("utf-8", "backslashreplace")
        self.whole = self._bytes + len(data) <= SPILL_BYTES
        try:
            self._write(data[: SPILL_BYTES - self._bytes])
        except OSError:
            self.whole = False

    def _write(self, data: bytes) -> None:
        if self._handle < 0:
            self._handle, self.path = self._make()
        while data:
            written = os.write(self._handle, data)
            self._bytes += written
            data = data[written:]

    def close(self) -> None:
        """No more comes."""
        self._waiting.clear()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


class Spills:
    """The kept outputs of one session, in a scratch folder that is found when the first is needed."""

    def __init__(self, scratch: Callable[[], Scratch]) -> None:
        self._scratch = scratch
        self._paths: deque[str] = deque()

    def new(self, threshold: int) -> Spill:
        """For one more output."""
        return Spill(threshold, self._make)

    def _make(self) -> tuple[int, str]:
        scratch = self._scratch()
        name = f"output-{secrets.token_hex(4)}.txt"
        handle = scratch.open(name)
        self._paths.append(scratch.path(name))
        while len(self._paths) > SPILLS_KEPT:
            with contextlib.suppress(OSError):
                scratch.remove(self._paths.popleft())
        return handle, self._paths[-1]
