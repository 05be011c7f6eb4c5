"""A bound on a command's memory that the kernel keeps: a transient scope of the user's own systemd.

A scope is a cgroup; what it holds beyond its bound the kernel ends inside of it, and nothing else on the machine. Where
there is no such systemd, the watch (`watch.py`) does what can be done from outside.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from pool_tools.environment import find_program
from pool_tools.frozen import frozen
from pool_tools.sandbox.sharednet import SEARCH_PATH

TRIAL_SECONDS = 5.0
TRIAL_BYTES = 64 * 1024**2

_ENV = "/usr/bin/env"

_BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""How systemd-run finds the user's systemd; commands do not get to see it."""

# Prints the bound of the cgroup that it is in, by version 2 of cgroups.
_TRIAL = r"""
while IFS=: read -r id _ path; do
[ "$id" = 0 ] && read -r most <"/sys/fs/cgroup$path/memory.max" && echo "$most"
done </proc/self/cgroup
"""


@runtime_checkable
class TakesScope(Protocol):
    """A sandbox whose commands can be put into scopes."""

    def scope_memory(self, scope: MemoryScope, kept: int) -> None:
        """Bound the memory of all further commands: what is available as they start, less kept bytes."""
        ...


@frozen
class MemoryScope:
    """program is systemd-run by its absolute path, bus the variables that it needs."""

    program: str
    bus: Mapping[str, str]

    def around(self, argv: Sequence[str], most: int) -> tuple[str, ...]:
        """The command that becomes argv in a scope of at most most bytes, with no swap. argv does not get the bus."""
        bounds = ("-p", f"MemoryMax={most}", "-p", "MemorySwapMax=0")
        scope = (self.program, "--user", "--scope", "--quiet", "--collect", *bounds, "--")
        hidden = [word for name in self.bus for word in ("-u", name)]
        named = [f"{name}={value}" for name, value in self.bus.items()]
        return (_ENV, *named, *scope, _ENV, *hidden, *argv)


def find_scope(environ: Mapping[str, str], roots: Sequence[Path]) -> MemoryScope | None:
    """The user's systemd, if a scope of it was seen to have its bound. Blocks for some 50 ms where there is one."""
    program = find_program("systemd-run", SEARCH_PATH, roots)
    bus = {name: environ[name] for name in _BUS if environ.get(name)}
    if program is None or not bus or not os.access(_ENV, os.X_OK):
        return None
    scope = MemoryScope(program, bus)
    try:
        done = subprocess.run(
            scope.around(("/bin/sh", "-c", _TRIAL), TRIAL_BYTES),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return scope if done.stdout.strip() == str(TRIAL_BYTES).encode() else None
