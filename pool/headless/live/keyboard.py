"""Lines from a person while nothing is asked, single keys while something is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
from collections.abc import Generator

CHUNK_BYTES = 65_536
_LOCAL_FLAGS = 3
_EOT = "\x04"
"""What Ctrl-D sends where keys come singly."""


class Keyboard:
    """Reads a terminal on the event loop. What it reads goes to `input`: lines, or keys while `keys` is entered.

    None is the end. The terminal is put back as it was at the end of each.
    """

    def __init__(self, handle: int) -> None:
        self._handle = self._source = handle
        self._rest = b""
        self._single = False
        self.input: asyncio.Queue[str | None] = asyncio.Queue()

    @contextlib.contextmanager
    def reading(self) -> Generator[None]:
        """Read until the block ends."""
        loop = asyncio.get_running_loop()
        self._source = _without_waiting(self._handle)
        loop.add_reader(self._source, self._ready)
        try:
            yield
        finally:
            loop.remove_reader(self._source)
            if self._source != self._handle:
                os.close(self._source)

    @contextlib.contextmanager
    def keys(self) -> Generator[None]:
        """Let each key count at once, without its echo. Keys that were pressed before are forgotten."""
        before = termios.tcgetattr(self._handle)
        single = [*before]
        single[_LOCAL_FLAGS] = before[_LOCAL_FLAGS] & ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self._handle, termios.TCSAFLUSH, single)
        self._rest, self._single = b"", True
        self.forget()
        try:
            yield
        finally:
            self._single = False
            termios.tcsetattr(self._handle, termios.TCSADRAIN, before)

    def forget(self) -> None:
        """Drop what was read and not taken."""
        while not self.input.empty():
            self.input.get_nowait()

    def _ready(self) -> None:
        try:
            data = os.read(self._source, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._source)
            self.input.put_nowait(None)
        elif self._single:
            for key in data.decode("utf-8", "replace"):
                self.input.put_nowait(None if key == _EOT else key)
        else:
            *whole, self._rest = (self._rest + data).split(b"\n")
            for line in whole:
                self.input.put_nowait(line.decode("utf-8", "replace"))


def _without_waiting(handle: int) -> int:
    """The same terminal, opened anew so that reading it never waits.

    Ctrl-C drops what was typed before it: what was there a moment ago may be gone when it is read. The handle itself is
    shared with the shell, which does not expect it to refuse to wait.
    """
    try:
        return os.open(os.ttyname(handle), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return handle
