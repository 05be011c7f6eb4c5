"""Running one command on the event loop: output as it comes, an end that does not wait for pipes, and no survivors."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pool_tools.frozen import frozen
from pool_tools.sandbox.base import Sandbox
from pool_tools.sandbox.forkclient import Forked
from pool_tools.sandbox.watch import Watch
from pool_tools.supervisor import SIGNALLED, descendants, send

T = TypeVar("T")

GRACE_SECONDS = 1.5
"""Between SIGTERM and SIGKILL at the time limit."""

INTERRUPT_GRACE_SECONDS = 0.3
"""The same when the user interrupts: Esc must work within a second."""

DRAIN_SECONDS = 0.5
"""How long output is still read after the end, while a process that is being killed holds the pipe."""

END_SECONDS = 5.0
"""How long the end of a killed launcher is awaited."""

WATCH_SECONDS = 0.1
"""How often it is looked what a command does to the machine; so long a command runs unwatched."""

SIGKILLED = SIGNALLED + signal.SIGKILL
"""Exit status of a command that was killed, as shells have it."""

_READ_BYTES = 256 * 1024
_PIPE_BYTES = 1024 * 1024
_STATUS_BYTES = 64 * 1024


@frozen
class Ended:
    """How a command ended.

    status is its exit status (128 + n for signal n), None if it was not told: the launcher failed or everything was
    killed. left are names of processes that it had left running; they are dead now. killed says why it was ended before
    its time, "" if it was not. restored says what it had changed that was put back.
    """

    status: int | None
    left: tuple[str, ...]
    timed_out: bool
    seconds: float
    killed: str = ""
    restored: tuple[str, ...] = ()


async def run_command(
    argv: Sequence[str],
    cwd: Path,
    env: dict[str, str],
    sandbox: Sandbox,
    limit: float,
    on_output: Callable[[bytes], None],
    memory_kept: int = 0,
    on_restored: Callable[[Sequence[str]], object] | None = None,
) -> Ended:
    """Run argv in the sandbox for at most limit seconds; on_output gets its output, both streams in order.

    memory_kept: bytes of memory that it must leave to other programs, where that is more than the sandbox's bounds say.
    on_restored gets what was put back also where this is cancelled, and so has no result.
    When this returns or is cancelled, no process of the command is left. Raises `OSError` if it cannot be started.
    """
    guard = sandbox.guard
    if guard is None:
        return await _Running(argv, cwd, env, sandbox, on_output, memory_kept).run(limit)
    restored: tuple[str, ...] = ()
    try:
        await _in_thread(guard.before)
        ended = await _Running(argv, cwd, env, sandbox, on_output, memory_kept).run(limit)
    finally:
        restored = await _in_thread(guard.after)
        if on_restored is not None:
            on_restored(restored)
    return replace(ended, restored=restored)


async def _in_thread(work: Callable[[], T]) -> T:
    """Run work to its end, also when cancelled."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


class _Running:
    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: dict[str, str],
        sandbox: Sandbox,
        on_output: Callable[[bytes], None],
        memory_kept: int,
    ) -> None:
        self._contained = sandbox.contains_processes
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._report = b""
        self._breach = ""
        bounds = replace(sandbox.bounds, memory_kept=max(memory_kept, sandbox.bounds.memory_kept))
        self._limits = Watch((cwd, Path(tempfile.gettempdir())), bounds)
        self._eof = asyncio.Event()
        self._ended = asyncio.Event()
        self._socket, far_socket = socket.socketpair()
        self._output, far_output = os.pipe()
        try:
            self._process = sandbox.start(argv, cwd, env, far_socket.fileno(), far_output)
        except BaseException:
            self._socket.close()
            os.close(self._output)
            raise
        finally:
            far_socket.close()
            os.close(far_output)
        self._socket.setblocking(False)
        os.set_blocking(self._output, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    async def run(self, limit: float) -> Ended:
        self._loop.add_reader(self._output, self._read_output)
        self._loop.add_reader(self._socket, self._read_report)
        watch = self._watch()
        limits = asyncio.ensure_future(self._keep_limits())
        timed_out = False
        try:
            try:
                async with asyncio.timeout(limit):
                    await self._ended.wait()
            except TimeoutError:
                timed_out = True
                await self._stop(GRACE_SECONDS)
            await self._drain()
        except asyncio.CancelledError:
            await asyncio.shield(self._stop(INTERRUPT_GRACE_SECONDS))
            raise
        finally:
            limits.cancel()
            self._kill()
            self._close(watch)
        status, left = self._told()
        killed = self._breach
        if not killed and not timed_out and status in (None, SIGKILLED) and self._limits.memory_ran_out():
            killed = "memory ran out, and the kernel ended a process of it"
        return Ended(status, left, timed_out, time.monotonic() - self._began, killed)

    async def _keep_limits(self) -> None:
        """End the command when it takes too much of the machine."""
        while not self._breach:
            await asyncio.sleep(WATCH_SECONDS)
            self._breach = await asyncio.to_thread(self._limits.breach, self._process.pid)
        self._kill()

    def _read_output(self) -> None:
        try:
            data = os.read(self._output, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._on_output(data)
        else:
            self._loop.remove_reader(self._output)
            self._eof.set()

    def _read_report(self) -> None:
        try:
            data = self._socket.recv(_STATUS_BYTES)
        except OSError:
            data = b""
        if data:
            self._report += data[: _STATUS_BYTES - len(self._report)]
        else:
            self._loop.remove_reader(self._socket)

    def _watch(self) -> int | asyncio.Task[int]:
        """Notice the launcher's end: by a process descriptor on Linux, else in a thread."""
        handle = self._end_descriptor()
        if handle is not None:
            self._loop.add_reader(handle, self._on_end, handle)
            return handle
        task = asyncio.ensure_future(asyncio.to_thread(self._process.wait))
        task.add_done_callback(lambda _: self._ended.set())
        return task

    def _end_descriptor(self) -> int | None:
        if isinstance(self._process, Forked):
            return os.dup(self._process.handle)
        with contextlib.suppress(OSError, AttributeError):
            return os.pidfd_open(self._process.pid)
        return None

    def _on_end(self, handle: int) -> None:
        self._loop.remove_reader(handle)
        self._process.wait()
        self._ended.set()

    async def _stop(self, grace: float) -> None:
        """SIGTERM to all of the command, then SIGKILL."""
        send(list(descendants(self._process.pid)), signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), grace)
        self._kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), END_SECONDS)

    def _kill(self) -> None:
        """A contained command dies with its launcher; a supervised one when our end of the socket is closed."""
        if self._ended.is_set():
            return
        if self._contained:
            self._process.kill()
        else:
            self._socket.shutdown(socket.SHUT_WR)

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._eof.wait(), DRAIN_SECONDS)

    def _close(self, watch: int | asyncio.Task[int]) -> None:
        self._read_report()
        self._loop.remove_reader(self._output)
        self._loop.remove_reader(self._socket)
        self._socket.close()
        os.close(self._output)
        if isinstance(watch, int):
            self._loop.remove_reader(watch)
            os.close(watch)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)

    def _told(self) -> tuple[int | None, tuple[str, ...]]:
        line, ended, _ = self._report.partition(b"\n")
        status, *left = line.decode("utf-8", "backslashreplace").split("\t")
        return (int(status), tuple(left)) if ended and status.isdigit() else (None, ())
