"""What stdin adds to the prompt, without ever hanging on it.

With a prompt given, a file on stdin is read whole (unless something else has begun to read it, as in a shell's
`while read` loop), and a pipe is read if it says something within `PIPE_WAIT_SECONDS`, until its end or until it has
been silent for `PIPE_SILENCE_SECONDS`. Without a prompt, stdin is the prompt; `-` waits for its end without limit. A
terminal is never read.
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

PIPE_SILENCE_SECONDS = 2.0
STDIN_LIMIT_BYTES = 8 * 1024 * 1024


class StdinTooLong(Exception):
    """More came on stdin than a prompt may have."""


def read_stdin(*, only_prompt: bool, to_end: bool) -> str:
    """Text from stdin, "" if there is none. only_prompt: there is no other; to_end: it was asked for by `-`."""
    try:
        fd = sys.stdin.fileno() if sys.stdin else -1
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError):
        return ""
    if stat.S_ISREG(mode):
        begun = os.lseek(fd, 0, os.SEEK_CUR) > 0
        return "" if begun and not (only_prompt or to_end) else _read(fd, None, None)
    if to_end and not os.isatty(fd):
        return _read(fd, None, None)
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    return _read(fd, EMPTY_WAIT_SECONDS if only_prompt else PIPE_WAIT_SECONDS, PIPE_SILENCE_SECONDS)


def _read(fd: int, wait: float | None, silence: float | None) -> str:
    """Read to the end. wait limits the time to the first byte and silence that between bytes, in seconds."""
    parts: list[bytes] = []
    left = STDIN_LIMIT_BYTES
    while True:
        limit = silence if parts else wait
        if limit is not None and not select.select([fd], [], [], limit)[0]:
            break
        data = os.read(fd, 65536)
        if not data:
            break
        parts.append(data)
        left -= len(data)
        if left < 0:
            raise StdinTooLong(
                f"stdin holds more than {STDIN_LIMIT_BYTES:,} bytes; put it into a file in the workspace"
            )
    return b"".join(parts).decode("utf-8", "replace")
