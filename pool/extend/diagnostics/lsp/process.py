"""A language server's process: in the sandbox, and with all its children gone when it is closed."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time

from pool_tools.commands import Commands
from pool_tools.sandbox.base import Launch
from pool_tools.supervisor import descendants, send

GRACE_SECONDS = 0.5
"""How long a server may take to end once its input is closed, and again after SIGTERM."""

POLL_SECONDS = 0.01

HEADER_BYTES = 64 * 1024
"""Longest line of a header that is read."""

ERROR_BYTES = 4_096
"""So much of the end of its error output is kept."""


class ServerProcess:
    """A started server. errors is the end of its error output."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout
        self.errors = b""
        self._below: set[int] = set()
        self._process = process
        self._keeper = asyncio.create_task(self._keep_errors())

    async def _keep_errors(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(ERROR_BYTES):
            self.errors = (self.errors + data)[-ERROR_BYTES:]

    async def note_children(self) -> None:
        """Look for its children while it lives: what it leaves behind has another parent afterwards."""
        self._below |= set(await asyncio.to_thread(descendants, self._process.pid))

    async def close(self) -> None:
        """Close its input, then terminate, then kill everything below; each step waits a moment."""
        self.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._gone():
                break
            await self.note_children()
            send([self._process.pid, *self._below], number)
        await self._gone()
        send(list(self._below), signal.SIGKILL)
        self._keeper.cancel()
        await asyncio.gather(self._keeper, return_exceptions=True)
        with contextlib.suppress(TimeoutError, OSError):
            # What is left in the pipe is read, so that it is seen to be closed.
            async with asyncio.timeout(GRACE_SECONDS):
                while await self.stdout.read(HEADER_BYTES):
                    pass

    async def _gone(self) -> bool:
        """Whether it ends within the grace. Not by `wait`, which also waits for pipes that a child may hold open."""
        until = time.monotonic() + GRACE_SECONDS
        while self._process.returncode is None and time.monotonic() < until:
            await asyncio.sleep(POLL_SECONDS)
        return self._process.returncode is not None


async def start_server(command: str, shell: str, commands: Commands) -> ServerProcess:
    """Start a server's command line in the sandbox, in the workspace. Raises OSError."""

    def launch() -> Launch:
        return commands.sandbox.wrap((shell, "-c", f"exec {command}"), commands.folder, commands.environment())

    found = await asyncio.to_thread(launch)
    # From the loop's own thread: where a sandbox dies with its parent, the parent is a thread.
    process = await asyncio.create_subprocess_exec(
        *found.argv,
        cwd=commands.folder,
        env=found.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=found.descriptors,
        start_new_session=True,
        limit=HEADER_BYTES,
    )
    return ServerProcess(process)
