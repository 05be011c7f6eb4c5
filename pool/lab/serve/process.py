"""A server as a process that cannot outlive Pool: its whole tree ends with it, also if Pool is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pool_tools.supervisor
from pool_tools.supervisor import processes

LOST = -1
"""The status of a process of which nothing was heard any more."""

_NOTE_BYTES = 4_096
_END_SECONDS = 10.0


class ServerProcess:
    """One start of a command. Its output goes to a file; what it starts is killed when the socket to it closes.

    The file outlives both, and a killed Pool closes the socket: nothing holds the accelerator's memory afterwards.
    """

    def __init__(self, words: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        """Start it. Raises `OSError` if the log cannot be written."""
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with theirs:
            try:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-I", pool_tools.supervisor.__file__, *words],
                    stdin=theirs.fileno(),
                    stdout=handle,
                    stderr=handle,
                    env=dict(env),
                    start_new_session=True,
                )
            finally:
                os.close(handle)

    @property
    def pids(self) -> list[int]:
        """The command's own process, if it lives."""
        return [pid for pid, (parent, _) in processes().items() if parent == self._keeper.pid]

    async def wait(self) -> int:
        """The command's exit status (128 and the signal for a killed one), or `LOST`. To be awaited once."""
        note = b""
        with self._ours, contextlib.suppress(OSError):
            note = await asyncio.get_running_loop().sock_recv(self._ours, _NOTE_BYTES)
        text = note.split(b"\t")[0].strip().decode()
        return int(text) if text.lstrip("-").isdecimal() else LOST

    def ask_to_end(self) -> None:
        """Send SIGTERM to the command's group."""
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGTERM)

    async def close(self) -> None:
        """Kill what is left, and collect it."""
        left = self.pids
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_WR)
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._keeper.wait, _END_SECONDS)
            return
        for pid in (*left, self._keeper.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self._keeper.wait()
