"""Running a command in a sandbox to see what the sandbox does."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pool_tools.sandbox.base import Sandbox

TRIAL_SECONDS = 10.0
_MARK_BYTES = 8


def output_of(sandbox: Sandbox, argv: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: float) -> str:
    """What a command prints, started as commands are. Raises `OSError` and `subprocess.TimeoutExpired`."""
    near, far = socket.socketpair()
    reading, writing = os.pipe()
    with near, open(reading, "rb") as output:
        try:
            process = sandbox.start(argv, cwd, env, far.fileno(), writing)
        finally:
            far.close()
            os.close(writing)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(seconds)
            raise
        os.set_blocking(reading, False)
        return (output.read() or b"").decode("utf-8", "replace")


def only_reads(sandbox: Sandbox, folder: Path, env: Mapping[str, str]) -> bool:
    """Whether a command was seen to run and to be unable to write in folder. Blocks for some 10 to 50 ms."""
    mark = folder / f".trial-{secrets.token_hex(_MARK_BYTES)}"
    script = 'true 2>/dev/null >"$1"; echo end'
    try:
        said = output_of(sandbox, ("/bin/sh", "-c", script, "sh", str(mark)), folder, env, TRIAL_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    if os.path.lexists(mark):
        mark.unlink()
        return False
    return said.split() == ["end"]
