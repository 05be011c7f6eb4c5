"""Who is at the other end of a live run's socket: a face of this user, and no command that an agent runs.

A command in a sandbox is of the same user, and not every sandbox keeps it from a socket. It must not approve its own
calls. Such a process is told by what the kernel says of it: it descends from the run's process, or it has given up
rights that the run's process has.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")
"""pid, uid and gid of the other end (unix(7), SO_PEERCRED)."""

_CONFINED = ("NoNewPrivs", "Seccomp_filters")
"""Lines of /proc/PID/status that count what a process has given up (proc_pid_status(5))."""

MOST_ANCESTORS = 1_000


def refused(writer: asyncio.StreamWriter) -> str:
    """Why the process at the other end may not steer this one, "" if it may."""
    sock: socket.socket = writer.get_extra_info("socket")
    pid, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    if uid not in (os.getuid(), 0):
        return "the run is another user's"
    try:
        descends, confined = _descends(pid, os.getpid()), _confinement(pid)
    except (OSError, ValueError, IndexError):
        return "nothing is known of who asks"
    if descends:
        return "a command of the run does not steer it"
    if any(theirs > ours for theirs, ours in zip(confined, _confinement(os.getpid()), strict=True)):
        return "a command in a sandbox does not steer a run"
    return ""


def is_own(writer: asyncio.StreamWriter) -> bool:
    """Whether the process at the other end is of this user, or root's."""
    sock: socket.socket = writer.get_extra_info("socket")
    _, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return uid in (os.getuid(), 0)


def _descends(pid: int, ancestor: int) -> bool:
    for _ in range(MOST_ANCESTORS):
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
        # The name stands in parentheses and may hold anything; the parent is the second field after it.
        pid = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return True


def _confinement(pid: int) -> tuple[int, ...]:
    status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return tuple(int(fields.get(name, "0")) for name in _CONFINED)
