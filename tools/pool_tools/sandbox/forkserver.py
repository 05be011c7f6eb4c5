"""Starts commands by forking, confined ones too: a new interpreter for each would take longer than most commands.

Run as a program by an isolated interpreter. Descriptor 0 is a socket on which requests come: a length, with the
command's control socket and output as descriptors, then JSON with argv, cwd, env and plan, which is null for a command
that is not confined. The answer is the process id of the command's supervisor, with a process descriptor for it; or an
error number, negative. One answer of 0 comes first, when requests can be taken. When the other end is closed, every
process below is killed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from pool_tools import supervisor
from pool_tools.sandbox import confine

_LENGTH = struct.Struct("=I")
_ANSWER = struct.Struct("=i")
_FIRST_OTHER_DESCRIPTOR = 3
_EMPTY_LISTS = 2
_POLL_SECONDS = 0.01


def main() -> None:
    """Serve until the other end is closed."""
    supervisor.adopt_orphans()
    wake = supervisor.wake_on_signals()
    link = socket.socket(fileno=os.dup(0))
    link.sendall(_ANSWER.pack(0))
    supervisors: set[int] = set()
    while True:
        readable, _, _ = select.select([link, wake], [], [])
        if wake in readable:
            os.read(wake, 4096)
            _reap(supervisors)
        if link in readable:
            request = _receive(link)
            if request is None:
                break
            supervisors |= _start(link, *request)
    # The supervisors see the same end, and kill each its own better than it could be done from here.
    deadline = time.monotonic() + supervisor.KILL_SECONDS
    while supervisors and time.monotonic() < deadline:
        _reap(supervisors)
        time.sleep(_POLL_SECONDS)
    supervisor.kill_all(0)


def _receive(link: socket.socket) -> tuple[dict[str, Any], int, int] | None:
    head, handles, _, _ = socket.recv_fds(link, _LENGTH.size, 2)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = bytearray()
    while len(body) < length:
        data = link.recv(length - len(body))
        if not data:
            return None
        body += data
    control, output = handles
    return json.loads(body), control, output


def _start(link: socket.socket, request: dict[str, Any], control: int, output: int) -> set[int]:
    try:
        pid = os.fork()
    except OSError as error:
        link.sendall(_ANSWER.pack(-(error.errno or errno.EAGAIN)))
        return set()
    else:
        if not pid:
            _supervise(request, control, output)
        # Nobody else reaps it, so the id is still its own.
        handle = os.pidfd_open(pid)
        socket.send_fds(link, [_ANSWER.pack(pid)], [handle])
        os.close(handle)
        return {pid}
    finally:
        os.close(control)
        os.close(output)


def _supervise(request: dict[str, Any], control: int, output: int) -> None:
    """Be the supervisor of one command; does not return."""
    status = 1
    try:
        os.setsid()
        os.dup2(control, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        _close_others()

        status = _run(request)
    finally:
        os._exit(status)


def _run(request: dict[str, Any]) -> int:
    argv, env, plan = request["argv"], request["env"], request["plan"]

    def confined() -> None:
        os.chdir(request["cwd"])
        confine.confine(plan)

    if plan is not None:
        alone = plan["abi"] >= confine.SCOPES_SINCE_ABI and confine.confine_signals()
        return supervisor.supervise(argv, env, confined, alone)
    try:
        os.chdir(request["cwd"])
    except OSError as error:
        os.write(2, f"{request['cwd']}: {error.strerror}\n".encode("utf-8", "backslashreplace"))
        return supervisor.NOT_STARTED
    return supervisor.supervise(argv, env)


def _close_others() -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= _FIRST_OTHER_DESCRIPTOR:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _reap(supervisors: set[int]) -> None:
    """Collect what has ended. Where a supervisor was killed, what it held has come to us, and ends too."""
    killed = False
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            break
        killed = killed or (pid in supervisors and os.WIFSIGNALED(status))
        supervisors.discard(pid)
    if killed:
        _end_orphans(supervisors)


def _end_orphans(supervisors: set[int]) -> None:
    """Twice nothing, since a process may change its parent just while it is looked for."""
    deadline = time.monotonic() + supervisor.KILL_SECONDS
    empty = 0
    while empty < _EMPTY_LISTS and time.monotonic() < deadline:
        orphans = _children() - supervisors
        for orphan in orphans:
            supervisor.send([*supervisor.descendants(orphan), orphan], signal.SIGKILL)
        empty = 0 if orphans else empty + 1
        time.sleep(_POLL_SECONDS)
        _collect(orphans)


def _collect(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _children() -> set[int]:
    own = os.getpid()
    return {pid for pid, (parent, _) in supervisor.processes().items() if parent == own}


if __name__ == "__main__":
    main()
