"""An agent's process: messages over its standard streams, with bounds for one that runs wild."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from pool.facekit.agents.descriptions import AgentDescription, AgentError, not_installed
from pool_tools.supervisor import descendants, processes, send
from pool_tools.text import printable

MESSAGE_BYTES_MOST = 32 * 1024 * 1024
"""A longer line ends the agent."""

JUNK_LINES_MOST = 200
"""Lines that are no messages, such as a banner, are passed over; after so many the agent is ended."""

UNREAD_BYTES_MOST = 64 * 1024 * 1024
"""So much may wait for an agent that does not read."""

STDERR_BYTES = 8_192
STDERR_LINE_CHARS = 200
GRACE_SECONDS = 0.5
"""How long an agent may take to end once its input is closed, and again after SIGTERM."""

POLL_SECONDS = 0.01
BREATH_LINES = 20
"""After so many messages that were there already, the interface gets its turn."""


class AgentProcess:
    """A running agent, started by `start`. on_line gets each message; on_end comes last, with why it ended."""

    def __init__(self, on_line: Callable[[bytes], object], on_end: Callable[[str], object]) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stderr = b""

    async def start(self, agent: AgentDescription, folder: Path) -> None:
        """Start it in folder, with the user's own environment and rights. Raises `AgentError`."""
        program = agent.program(os.environ)
        if not program:
            raise not_installed(agent)
        try:
            self._process = await asyncio.create_subprocess_exec(
                program,
                *agent.command[1:],
                cwd=folder,
                env={**os.environ, **dict(agent.env)},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=MESSAGE_BYTES_MOST,
            )
        except (OSError, ValueError) as error:
            raise AgentError(f"{program} cannot be started: {error}", agent.install) from None
        self._tasks = [
            asyncio.create_task(self._read(self._process)),
            asyncio.create_task(self._keep_stderr(self._process)),
        ]

    def send(self, line: bytes) -> None:
        """Write a message. An agent that reads nothing is ended once too much waits for it."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return
        process.stdin.write(line)
        if process.stdin.transport.get_write_buffer_size() > UNREAD_BYTES_MOST:
            self.kill()

    def kill(self) -> None:
        """End it at once; `on_end` follows."""
        if self._process is not None:
            send([self._process.pid, *descendants(self._process.pid)], signal.SIGKILL)

    def complaint(self) -> str:
        """The last line of its error output that speaks of an error, else the last one; "" if it wrote none."""
        lines = [line for line in printable(self._stderr.decode("utf-8", "replace")).splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower()] or lines
        return telling[-1].strip()[:STDERR_LINE_CHARS] if telling else ""

    async def close(self) -> None:
        """Close its input, then terminate, then kill all that is below it; each step waits a moment."""
        process, tasks = self._process, self._tasks
        self._process, self._tasks = None, []
        if process is None:
            return
        below = await asyncio.to_thread(descendants, process.pid)
        if process.stdin is not None:
            process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await _gone(process):
                break
            below |= await asyncio.to_thread(descendants, process.pid)
            send([process.pid, *below], number)
        await _gone(process)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        # What left its group and outlived it; names are compared, since numbers of processes are used again.
        living = await asyncio.to_thread(processes)
        send([pid for pid, name in below.items() if living.get(pid, (0, ""))[1] == name], signal.SIGKILL)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Else the transport would still be there when the loop ends.
        process._transport.close()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType]  # asyncio has no other way

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        why = "it closed its output"
        junk = lines = 0
        try:
            while True:
                line = await process.stdout.readuntil(b"\n")
                lines += 1
                if line.lstrip().startswith(b"{"):
                    self._on_line(line)
                elif line.strip():
                    junk += 1
                    if junk > JUNK_LINES_MOST:
                        why = f"it wrote {junk} lines to its output that are no messages"
                        break
                if lines % BREATH_LINES == 0:
                    await asyncio.sleep(0)
        except asyncio.LimitOverrunError:
            why = f"it sent a message of more than {MESSAGE_BYTES_MOST:,} bytes"
        except asyncio.IncompleteReadError:
            if await _gone(process):
                why = _ended(process.returncode)
        except OSError as error:
            why = f"its output cannot be read: {error.strerror}"
        self.kill()
        self._on_end(why)

    async def _keep_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while data := await process.stderr.read(STDERR_BYTES):
            self._stderr = (self._stderr + data)[-STDERR_BYTES:]


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        return f"it was ended by signal {-status}"
    return f"it ended with status {status}"


async def _gone(process: asyncio.subprocess.Process) -> bool:
    """Whether it ends within the grace. Not by `wait`, which also waits for pipes that a child may hold open."""
    until = time.monotonic() + GRACE_SECONDS
    while process.returncode is None and time.monotonic() < until:
        await asyncio.sleep(POLL_SECONDS)
    return process.returncode is not None
