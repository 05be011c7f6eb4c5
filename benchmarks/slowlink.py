"""A terminal behind a slow link: runs a command in a terminal of its own and delays every byte, both ways.

    python benchmarks/slowlink.py --round-trip-ms 150 -- tmux -f /dev/null new-session pool

What is typed arrives half the round trip later, and so does what is shown. Nothing is lost, joined or reordered. For
trying the interface by hand where `tc netem` cannot be used; the script to go through is docs/interface-script.md.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import select
import signal
import sys
import termios
import time
import tty
from collections import deque
from collections.abc import Callable, Generator, Sequence

CHUNK_BYTES = 65_536
IDLE_SECONDS = 1.0
NOTHING_RAN = 127

IN, OUT = 0, 1


class Delayed:
    """Bytes on their way: each piece is due so many seconds after it came."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._pieces: deque[tuple[float, bytes]] = deque()

    def put(self, data: bytes) -> None:
        """A piece sets out."""
        self._pieces.append((self._clock() + self._seconds, data))

    def due(self) -> bytes:
        """What has arrived by now."""
        out = b""
        while self._pieces and self._pieces[0][0] <= self._clock():
            out += self._pieces.popleft()[1]
        return out

    def wait(self) -> float:
        """Seconds until the next piece arrives, at most `IDLE_SECONDS`."""
        return min(IDLE_SECONDS, max(0.0, self._pieces[0][0] - self._clock())) if self._pieces else IDLE_SECONDS

    @property
    def empty(self) -> bool:
        """Whether nothing is on its way."""
        return not self._pieces


def relay(command: Sequence[str], one_way_seconds: float) -> int:
    """Run a command behind the link; its exit code."""
    pid, handle = pty.fork()
    if pid == 0:
        with contextlib.suppress(OSError):
            os.execvp(command[0], list(command))
        os._exit(NOTHING_RAN)
    _copy_size(handle)
    signal.signal(signal.SIGWINCH, lambda number, frame: _copy_size(handle))
    with _raw():
        _pump(handle, Delayed(one_way_seconds), Delayed(one_way_seconds))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _pump(handle: int, there: Delayed, back: Delayed) -> None:
    """Until the command is gone and all of its output has arrived."""
    sources = {IN: there, handle: back}
    while handle in sources or not back.empty:
        ready, _, _ = select.select(list(sources), [], [], min(there.wait(), back.wait()))
        for source in ready:
            try:
                data = os.read(source, CHUNK_BYTES)
            except OSError:
                data = b""
            if data:
                sources[source].put(data)
            else:
                del sources[source]
        _write(OUT, back.due())
        if handle in sources:
            _write(handle, there.due())


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _copy_size(handle: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(handle, termios.TIOCSWINSZ, fcntl.ioctl(IN, termios.TIOCGWINSZ, b"\0" * 8))


@contextlib.contextmanager
def _raw() -> Generator[None]:
    """Every key goes through as it is, while the block runs."""
    if not os.isatty(IN):
        yield
        return
    before = termios.tcgetattr(IN)
    tty.setraw(IN)
    try:
        yield
    finally:
        termios.tcsetattr(IN, termios.TCSADRAIN, before)


def main() -> int:
    """Take the command line apart; the exit code is the command's."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--round-trip-ms", type=float, default=150.0, metavar="N", help="milliseconds (%(default)g)")
    parser.add_argument("command", nargs="+", help="what to run, after --")
    options = parser.parse_args()
    return relay(options.command, options.round_trip_ms / 2000)


if __name__ == "__main__":
    sys.exit(main())
