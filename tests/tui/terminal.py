"""A program in a real pseudo-terminal, with pyte as the terminal that shows it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte
from pyte.screens import Char

CHUNK = 65536
PAINTED_SECONDS = 0.5
SAME_POLLS = 3
"""A screen that is painted in several writes is whole once so many looks in a row saw the same."""

POLL_SECONDS = 0.02

SEEN_SECONDS = 45.0
"""How long something may take to be seen: a busy machine starts a program late, and a test as a whole has 60 s."""

READ_SECONDS = 10.0
"""How long the rest of what a child wrote may take to be read after its end."""

UNKNOWN = re.compile(rb"\x1b\[[<>=?][0-9;:]*[umc]")
"""pyte does not know these private modes' parameters with ':' or '>' and would print them."""

BEGUN = re.compile(rb"\x1b(?:\[[0-9;:<>=?]*)?\Z")
"""A sequence whose end is still to come: what is read may end anywhere."""


def _row(cells: Mapping[int, Char], columns: int) -> str:
    """A row as text, without blanks at its end. The second half of a wide character is an empty cell.

    pyte's own `display` fails where such a half stands alone, as it may in a window that shrinks.
    """
    return "".join(cells[column].data for column in range(columns)).rstrip()


class Terminal:
    """A child on a pty. The screen is read by a thread; `raw` holds every byte that the child wrote."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        rows: int = 24,
        answers: Mapping[bytes, bytes] | None = None,
    ) -> None:
        """answers are what the terminal says to what it is asked."""
        self._answers = answers or {}
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._lock = threading.Lock()
        self.raw = bytearray()
        self._begun = b""
        self.status: int | None = None
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
                full = {**inherited, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})}
                os.execvpe(command[0], list(command), full)
            finally:
                os._exit(127)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        while True:
            try:
                ready, _, _ = select.select([self._handle], [], [], 0.5)
                data = os.read(self._handle, CHUNK) if ready else None
            except (OSError, ValueError):
                return
            if data == b"":
                return
            if data:
                self._show(data)

    def _show(self, data: bytes) -> None:
        begun = self._begun + data
        with self._lock:
            self.raw += data
        for question, answer in self._answers.items():
            # Once for each question, also one that came in two pieces.
            if question in begun[max(0, len(self._begun) - len(question) + 1) :]:
                os.write(self._handle, answer)
        cut = found.start() if (found := BEGUN.search(begun)) else len(begun)
        self._begun = begun[cut:]
        with self._lock:
            self._stream.feed(UNKNOWN.sub(b"", begun[:cut]))

    @property
    def text(self) -> str:
        """The screen as lines of text, without blanks at their ends."""
        with self._lock:
            return "\n".join(_row(self.screen.buffer[y], self.screen.columns) for y in range(self.screen.lines))

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the cursor, from 0."""
        with self._lock:
            return self.screen.cursor.x, self.screen.cursor.y

    def send(self, data: bytes | str) -> None:
        """Type."""
        os.write(self._handle, data.encode() if isinstance(data, str) else data)

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size."""
        with self._lock:
            self.screen.resize(rows, columns)
        self._set_size(columns, rows)
        os.kill(self.pid, signal.SIGWINCH)

    def wait_for(self, what: str | Callable[[str], bool], seconds: float = SEEN_SECONDS) -> str:
        """Wait until a text stands on the screen, or a condition holds of it; the screen then."""

        def holds(text: str) -> bool:
            return what in text if isinstance(what, str) else what(text)

        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if holds(text := self.text):
                return self._settled(text, holds)
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"not seen within {seconds} s: {what!r}; the screen was:\n{self.text}")

    def press(self, key: str, seen: str, settle_seconds: float) -> None:
        """Press a key that answers a question, until it is taken: seen stands on the screen then.

        No key counts for settle_seconds after a question came up, and a busy machine may show it late.
        """
        for _ in range(4):
            time.sleep(settle_seconds * 1.5)
            self.send(key)
            with contextlib.suppress(AssertionError):
                self.wait_for(seen, 10.0)
                return
        raise AssertionError(f"{key!r} was not taken; the screen was:\n{self.text}")

    def wait_written(self, what: bytes, seconds: float = SEEN_SECONDS) -> None:
        """Wait until the child has written some bytes, of which the screen need not show anything."""
        self.wait_for(lambda _: what in self.raw, seconds)

    def leave(self, seen: str = "Ctrl+C again leaves") -> int:
        """Press Ctrl-C, and twice more once `seen` stands on the screen; the child's exit code.

        Two presses within two seconds end it, and a busy machine may show later than that what the first one did. The
        last two come in one write and are read at once: one of them is the second in any case.
        """
        self.send("\x03")
        self.wait_for(seen)
        self.send("\x03\x03")
        return self.wait_end()

    def _settled(self, text: str, holds: Callable[[str], bool]) -> str:
        """The screen once it is painted whole: it stayed the same for a while, or that takes too long."""
        same, end = 0, time.monotonic() + PAINTED_SECONDS
        while same < SAME_POLLS and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            now = self.text
            if not holds(now):
                return text
            same = same + 1 if now == text else 0
            text = now
        return text

    def wait_end(self, seconds: float = SEEN_SECONDS) -> int:
        """Wait for the child to end and for all that it wrote; its exit code, or minus the signal that ended it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                # What it wrote ends once all is read, unless a process that the child left behind has it open.
                self._thread.join(READ_SECONDS)
                return self.status
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"still running after {seconds} s; the screen was:\n{self.text}")

    def hang_up(self) -> None:
        """Take the terminal away from the child, which lives on if it can."""
        handle, self._handle = self._handle, -1
        os.close(handle)

    def kill(self) -> None:
        """End the child whatever it does."""
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
            self.status = -9
        self._thread.join(timeout=2)
        with contextlib.suppress(OSError):
            os.close(self._handle)

    @property
    def modes(self) -> list[int]:
        """The terminal's settings as `stty -a` would show them."""
        return [v for v in termios.tcgetattr(self._handle)[:4] if isinstance(v, int)]


POOL = (sys.executable, "-m", "pool")
"""The program under test."""
