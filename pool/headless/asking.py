"""Questions on a terminal: a line is asked for, also from within an event loop, and Ctrl-C still works at once."""

from __future__ import annotations

import signal
import sys

from pool.headless.plain import safe


def ask_line(question: str) -> str | None:
    """The line that is typed, None at the end of input. Blocks; for the main thread. Raises `KeyboardInterrupt`."""
    sys.stderr.write(safe(f"{question} ", terminal=True))
    sys.stderr.flush()
    # An event loop's own handler would only take note of the key until the line is typed.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        line = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    return line.strip() if line else None


def agreed(question: str) -> bool:
    """Whether the answer is yes."""
    return (ask_line(f"{question} [y/N]") or "").lower() in ("y", "yes")
