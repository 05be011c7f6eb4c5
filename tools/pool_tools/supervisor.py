"""Holds all processes of one command together where no PID namespace does.

Run as a program, `supervisor.py COMMAND ARGUMENT...`, by an isolated interpreter; it imports nothing of ours. It
becomes the parent of every orphan below it (Linux's child subreaper), so that a process which left its group and its
session is found too. Descriptor 0 is one end of a socket pair. When the command exits, whatever it left running is
killed and one line written there: exit status, then the names of those processes, separated by tabs. When the other end
is closed (the caller wants everything dead, or is dead itself), everything is killed at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType

NOT_FOUND = 127
"""Exit status for a command that could not be started, as shells have it."""

SIGNALLED = 128
"""Exit status of a command killed by signal n is this plus n, as shells have it."""

NOT_STARTED = 1
"""Exit status of a supervisor whose command could not be prepared."""

KILL_SECONDS = 3.0
"""How long killing may take before the supervisor gives up on what the kernel holds."""

_PR_SET_CHILD_SUBREAPER = 36
_POLL_SECONDS = 0.01
_MESSAGE_BYTES = 4_096
_MOST_LISTED = 5_000
"""With more processes on the machine than this, nobody looks for names of what was left running."""
_ADOPTS = sys.platform == "linux"
_WAKING_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CHANGED_SIGNALS = (*_WAKING_SIGNALS, signal.SIGPIPE)
"""What this interpreter does not leave as the system has it; a command gets them as they were."""


def processes() -> dict[int, tuple[int, str]]:
    """Living processes: id -> (id of the parent, name). Zombies are left out."""
    if not os.path.isdir("/proc/self"):
        return _processes_by_ps()
    out: dict[int, tuple[int, str]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    line = file.read().decode("utf-8", "replace")
            except OSError:
                continue
            opening, closing = line.index("("), line.rindex(")")
            state, parent = line[closing + 2 :].split()[:2]
            if state not in "ZX":
                out[int(entry)] = int(parent), line[opening + 1 : closing]
    return out


def _processes_by_ps() -> dict[int, tuple[int, str]]:
    listing = subprocess.run(["ps", "-axo", "pid=,ppid=,stat=,comm="], capture_output=True, text=True, check=False)
    out: dict[int, tuple[int, str]] = {}
    for line in listing.stdout.splitlines():
        pid, parent, state, name = line.split(None, 3)
        if not state.startswith("Z"):
            out[int(pid)] = int(parent), os.path.basename(name)
    return out


def descendants(ancestor: int) -> dict[int, str]:
    """Living processes below ancestor: id -> name."""
    alive = processes()
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in alive.items():
        children.setdefault(parent, []).append(pid)
    out: dict[int, str] = {}
    todo = list(children.get(ancestor, ()))
    while todo:
        pid = todo.pop()
        out[pid] = alive[pid][1]
        todo += children.get(pid, ())
    return out


def send(pids: list[int], number: int) -> None:
    """Signal each process that still is there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def main(argv: list[str]) -> int:
    """Run the command; see the module's text."""
    return supervise(argv)


def supervise(
    argv: list[str],
    env: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
    alone: bool = False,
) -> int:
    """Run argv as the module's text says; the exit status for this process. env: None for this process's own.

    prepare runs in the command's process before argv. Where it raises `OSError`, its text is the only output, and no
    status is told. alone: no signal of this process reaches any but those below it, so that all can be killed at once;
    the caller has made sure of that.
    """
    adopt_orphans()
    wake = wake_on_signals()
    command = _start(argv, env, prepare)
    if command is None:
        return NOT_STARTED
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    while True:
        readable, _, _ = select.select([0, wake], [], [])
        if wake in readable:
            os.read(wake, 4096)
        status = _reap(command)
        if status is not None:
            left = kill_all(command, alone)
            os.write(0, "\t".join([str(status), *left.values()]).encode() + b"\n")
            return 0
        if 0 in readable and not os.read(0, 4096):
            kill_all(command, alone)
            return 0


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process, where the system can do that."""
    if _ADOPTS:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wake_on_signals() -> int:
    """A descriptor that can be read after a signal: that a child has ended, or that this process should."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in _WAKING_SIGNALS:
        signal.signal(number, _noticed)
    return woken


def _noticed(_number: int, _frame: FrameType | None) -> None:
    """Signals only wake the loop."""


def _start(argv: list[str], env: Mapping[str, str] | None, prepare: Callable[[], None] | None) -> int | None:
    """The process id of the command, None if it could not be prepared."""
    env = os.environ if env is None else env
    if prepare is None and _ADOPTS and os.path.isabs(argv[0]) and (spawned := _spawned(argv, env)):
        return spawned
    # Also where it could not be spawned: the copy says why.
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        _become(argv, env, prepare, tell)
    os.close(tell)
    # Its end comes with the command's start, since the descriptor is closed then.
    failure = os.read(told, _MESSAGE_BYTES) if prepare else b""
    os.close(told)
    if failure:
        os.waitpid(pid, 0)
        os.write(2, failure)
    return None if failure else pid


def _spawned(argv: list[str], env: Mapping[str, str]) -> int | None:
    """The same where nothing is to be prepared: the process id, None if argv cannot be run so.

    No copy of this interpreter is made, which takes longer than the start of a shell.
    """
    try:
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        return os.posix_spawn(argv[0], argv, env, file_actions=[nothing], setsid=True, setsigdef=_CHANGED_SIGNALS)
    except (OSError, NotImplementedError):
        return None


def _become(argv: list[str], env: Mapping[str, str], prepare: Callable[[], None] | None, tell: int) -> None:
    """Does not return."""
    try:
        os.setsid()
        for number in _CHANGED_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if prepare:
            try:
                prepare()
            except BaseException as error:
                os.write(tell, f"The sandbox could not be set up: {error}\n".encode("utf-8", "backslashreplace"))
                os._exit(NOT_STARTED)
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(NOT_FOUND)


def _reap(command: int) -> int | None:
    """Collect what has ended; the command's exit status if it is among it."""
    status = None
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if not pid:
            return status
        if pid == command:
            code = os.waitstatus_to_exitcode(raw)
            status = code if code >= 0 else SIGNALLED - code


def _has_children() -> bool:
    """Whether anything can be left: where orphans are adopted, whoever has no child has no descendant."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def kill_all(command: int, alone: bool = False) -> dict[int, str]:
    """Kill everything below, again and again; id -> name of what was found.

    A process may be forking faster than it is found, or change its parent just while it is looked for. So all are
    stopped first, since what is stopped starts nothing new, and the end is what the kernel says of children, not an
    empty list. command is the leader of a group that is killed as such where orphans are not adopted, 0 for none.
    alone: see `supervise`.
    """
    deadline = time.monotonic() + KILL_SECONDS
    found: dict[int, str] = {}
    if alone:
        found = descendants(os.getpid()) if _has_children() and len(os.listdir("/proc")) < _MOST_LISTED else {}
        while _has_children() and time.monotonic() < deadline:
            # One pass of the kernel over all processes, in which nothing can be missed.
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)
            _reap(command)
            time.sleep(_POLL_SECONDS / 10)
        return found
    if not _ADOPTS:
        found = descendants(os.getpid())
        if command:
            with contextlib.suppress(OSError):
                os.killpg(command, signal.SIGKILL)
    while time.monotonic() < deadline:
        _reap(command)
        if _ADOPTS and not _has_children():
            break
        alive = descendants(os.getpid())
        if not alive and not _ADOPTS:
            break
        new = alive.keys() - found.keys()
        found |= alive
        send(list(new), signal.SIGSTOP)
        if not new:
            send(list(alive), signal.SIGKILL)
            time.sleep(_POLL_SECONDS)
    else:
        send(list(descendants(os.getpid())), signal.SIGKILL)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
