"""Messages over the standard streams, one a line. Nothing else ever reaches stdout: whatever prints goes to stderr.

Reading and writing have a thread each: stdin may be a file, which an event loop cannot wait for, and a client that does
not read must not stall the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import NamedTuple

LINE_LIMIT_BYTES = 64 * 1024 * 1024
"""A longer message is refused; what follows its end is read on."""

_READ_BYTES = 256 * 1024
LAST_WRITE_SECONDS = 2.0
"""How long a client may take to read what is left when all is over."""

STDIN, STDOUT, STDERR = 0, 1, 2


class Streams(NamedTuple):
    """Descriptors that only the protocol has: no child inherits them."""

    read: int
    write: int


def take_streams() -> Streams:
    """Keep stdin and stdout for messages; from now on 0 is empty and 1 leads to stderr, also for children."""
    null = os.open(os.devnull, os.O_RDWR)
    streams = Streams(_copied(STDIN, null), _copied(STDOUT, null))
    os.dup2(null, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:
        os.dup2(null, STDOUT)
        os.dup2(null, STDERR)
    os.close(null)
    return streams


def _copied(fd: int, null: int) -> int:
    """A private copy of a descriptor, of null where it is closed."""
    try:
        return os.dup(fd)
    except OSError:
        return os.dup(null)


class LineReader(threading.Thread):
    """Hands lines to the loop: on_line gets each, on_long is told of one that is too long, on_end comes last.

    A last line without an end is a line too: a message that is whole is worked, half a one is no JSON.
    """

    def __init__(
        self,
        fd: int,
        on_line: Callable[[bytes], object],
        on_long: Callable[[], object],
        on_end: Callable[[], object],
    ) -> None:
        super().__init__(name="acp-reader", daemon=True)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._on_line = on_line
        self._on_long = on_long
        self._on_end = on_end
        self._held: list[bytes] = []
        self._size = 0
        self._skipping = False

    def run(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            while data := self._read():
                self._feed(data)
            self._line(b"")
            self._loop.call_soon_threadsafe(self._on_end)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _READ_BYTES)
        except OSError:
            return b""

    def _feed(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        if not rest:
            self._hold(first)
            return
        self._line(first)
        for line in rest[:-1]:
            self._line(line)
        self._hold(rest[-1])

    def _hold(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= LINE_LIMIT_BYTES:
            self._held.append(data)
        elif not self._skipping:
            self._skipping = True
            self._held.clear()
            self._loop.call_soon_threadsafe(self._on_long)

    def _line(self, data: bytes) -> None:
        self._hold(data)
        held, skipped = self._held, self._skipping
        self._held, self._size, self._skipping = [], 0, False
        line = b"".join(held)
        if line.strip() and not skipped:
            self._loop.call_soon_threadsafe(self._on_line, line)


class LineWriter:
    """Writes lines in order from a thread. on_gone is told once, on the loop, when nobody reads any more."""

    def __init__(self, fd: int, on_gone: Callable[[], object]) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._on_gone = on_gone
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="acp-writer", daemon=True)
        self._thread.start()

    def send(self, line: bytes) -> None:
        """Write a line, later."""
        self._lines.put(line)

    def close(self) -> None:
        """Write what is left, as long as somebody reads."""
        self._lines.put(None)
        self._thread.join(LAST_WRITE_SECONDS)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError:
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._on_gone)
                return
