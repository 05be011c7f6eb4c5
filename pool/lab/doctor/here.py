"""This machine, as the checks of it see it: everything that they read, so that tests can give them another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from pool_tools.environment import find_program
from pool_tools.frozen import frozen

PROGRAM_SECONDS = 5.0
MEMINFO = Path("/proc/meminfo")


@frozen
class Here:
    """environ: the environment; meminfo: Linux's account of memory; width, height: of the terminal, 0 without one.

    encoding is that of standard output.
    """

    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    meminfo: Path = MEMINFO
    width: int = 0
    height: int = 0
    encoding: str = "utf-8"

    @staticmethod
    def this() -> Here:
        """This machine and the terminal that standard output goes to."""
        try:
            size = os.get_terminal_size(sys.stdout.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((0, 0))
        return Here(os.environ, MEMINFO, size.columns, size.lines, (sys.stdout.encoding or "").lower())

    @property
    def utf8(self) -> bool:
        """Whether text goes out as UTF-8."""
        return self.encoding.replace("-", "") == "utf8"

    @property
    def remote(self) -> bool:
        """Whether the terminal is at the other end of an SSH connection."""
        return bool(self.environ.get("SSH_CONNECTION") or self.environ.get("SSH_TTY"))

    def program(self, name: str) -> str:
        """Where a program lies, "" if it is not to be found."""
        return find_program(name, self.environ.get("PATH", os.defpath), ()) or ""

    def output(self, name: str, *arguments: str) -> str:
        """What a program says, "" if it is missing or fails. Blocks for up to `PROGRAM_SECONDS`."""
        path = self.program(name)
        if not path:
            return ""
        try:
            done = subprocess.run(
                [path, *arguments],
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PROGRAM_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""
