"""The agent's end of the process that starts commands: see `forkserver.py`."""

from __future__ import annotations

import array
import errno
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pool_tools.sandbox.confine import Plan

ANSWER_SECONDS = 10.0
"""How long a command may take to start, on a machine that is short of memory."""

KILLED = -signal.SIGKILL

LONGEST_ARGUMENT_BYTES = 32 * os.sysconf("SC_PAGE_SIZE") - 1
"""Of one argument, without its NUL: `MAX_ARG_STRLEN` of Linux (`linux/binfmts.h`)."""

_SERVER = Path(__file__).with_name("forkserver.py")
_LENGTH = struct.Struct("=I")
_ANSWER = struct.Struct("=i")


class Forked:
    """A process that the server started; ours by a process descriptor, so that its id cannot come to mean another."""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid = pid
        self.handle = handle

    def kill(self) -> None:
        signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Until it has ended; its status is the server's to know."""
        if self.handle >= 0:
            poll = select.poll()
            poll.register(self.handle, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("forked command", timeout or 0)
            os.close(self.handle)
            self.handle = -1
        return 0


class ForkClient:
    """Starts the server when it is needed, and again if it was killed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    @property
    def pid(self) -> int:
        """The server's process id, 0 if it does not run."""
        return self._server.pid if self._server else 0

    def start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], plan: Plan | None, control: int, output: int
    ) -> Forked:
        """Run argv under a supervisor, confined by plan if there is one. Raises `OSError` if that cannot be."""
        if any(len(os.fsencode(argument)) > LONGEST_ARGUMENT_BYTES for argument in argv):
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        request = json.dumps({"argv": list(argv), "cwd": str(cwd), "env": dict(env), "plan": plan}).encode("ascii")
        with self._lock:
            try:
                return self._ask(request, control, output)
            except (BrokenPipeError, ConnectionError):
                self._stop()
                return self._ask(request, control, output)

    def ready(self) -> None:
        """Start the server, and wait until it takes requests. Raises `OSError`."""
        with self._lock:
            self._connected()

    def close(self) -> None:
        """End the server, and with it all that it started."""
        with self._lock:
            self._stop()

    def _ask(self, request: bytes, control: int, output: int) -> Forked:
        link = self._connected()
        handles = array.array("i", [control, output])
        link.sendmsg([_LENGTH.pack(len(request))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
        link.sendall(request)
        answer, received, _, _ = socket.recv_fds(link, _ANSWER.size, 1)
        if len(answer) < _ANSWER.size:
            raise ConnectionResetError("The process that starts commands has ended.")
        (pid,) = _ANSWER.unpack(answer)
        if pid < 0:
            raise OSError(-pid, f"A command cannot be started: {os.strerror(-pid)}")
        return Forked(pid, received[0])

    def _connected(self) -> socket.socket:
        if self._socket is None:
            near, far = socket.socketpair()
            with far:
                near.settimeout(ANSWER_SECONDS)
                self._server = subprocess.Popen(
                    (sys.executable, "-I", "-S", str(_SERVER)),
                    stdin=far.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            self._socket = near
            try:
                began = near.recv(_ANSWER.size)
            except OSError:
                began = b""
            if len(began) < _ANSWER.size:
                self._server.kill()  # nothing was started by it
                self._stop()
                raise ConnectionResetError("The process that starts commands did not begin.")
        return self._socket

    def _stop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._server is not None:
            self._server.wait()
            self._server = None
