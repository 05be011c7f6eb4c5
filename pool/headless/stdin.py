"""What stdin adds to the prompt, without ever hanging on it.

With a prompt given, a file on stdin is read whole, and a pipe is read if it says something within
`PIPE_WAIT_SECONDS` (then to its end); a pipe that stays silent is left alone. Without a prompt, stdin is the prompt and
is read to its end; a terminal is never read.
"""

from __future__ import annotations

import os
import select
import stat
import sys

PIPE_WAIT_SECONDS = 0.3
"""How long a pipe may stay silent beside a prompt argument; `pool run -` waits for its end instead."""

EMPTY_WAIT_SECONDS = 0.8
"""How long a silent pipe is waited for when there is no other prompt at all."""

STDIN_LIMIT_BYTES = 8 * 1024 * 1024


def read_stdin(*, wait_for_end: bool) -> str:
    """Text from stdin, "" if there is none. wait_for_end: stdin is the only source of the prompt."""
    try:
        fd = sys.stdin.fileno() if sys.stdin else -1
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError):
        return ""
    if stat.S_ISREG(mode):
        return _read_all(fd)
    if os.isatty(fd) or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    explicit = wait_for_end and "-" in sys.argv[1:]
    timeout = None if explicit else EMPTY_WAIT_SECONDS if wait_for_end else PIPE_WAIT_SECONDS
    ready, _, _ = select.select([fd], [], [], timeout)
    return _read_all(fd) if ready else ""


def _read_all(fd: int) -> str:
    parts: list[bytes] = []
    left = STDIN_LIMIT_BYTES
    while left > 0 and (data := os.read(fd, min(left, 65536))):
        parts.append(data)
        left -= len(data)
    return b"".join(parts).decode("utf-8", "replace")
