"""A `!` line: a command of the user's own, in the user's shell, outside the sandbox, as if typed beside Pool."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pool.events import RunStarted, UserCommand
from pool.facekit.decode import events_of

MOST_CHARS = 100_000
"""Output kept of a command; the beginning goes first."""

TOLD_CHARS = 8_000
"""Output that goes to the model with the next prompt: the end of it."""

CHUNK_BYTES = 16_384


class ShellLine:
    """One command, run once."""

    def __init__(self, command: str, workspace: Path) -> None:
        self.command = command
        self.output = ""
        self.exit: int | None = None
        self._workspace = workspace
        self._process: asyncio.subprocess.Process | None = None
        self._stopped = False

    async def run(self, show: Callable[[str], None]) -> None:
        """Run it to its end; show gets its output as it comes. Raises OSError if the shell cannot be started."""
        self._process = await asyncio.create_subprocess_exec(
            os.environ.get("SHELL") or "/bin/sh",
            "-c",
            self.command,
            cwd=self._workspace,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        stream = self._process.stdout
        assert stream is not None
        while data := await stream.read(CHUNK_BYTES):
            text = data.decode("utf-8", "replace")
            self.output = (self.output + text)[-MOST_CHARS:]
            show(text)
        self.exit = await self._process.wait()

    def stop(self) -> None:
        """End it, with all it started."""
        if self._process is not None and self.exit is None:
            self._stopped = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def ended(self) -> str:
        """How it ended, for people."""
        if self.exit is not None and self.exit < 0:
            return "stopped" if self._stopped else f"ended by signal {-self.exit}"
        return f"exit status {self.exit}"

    def told(self) -> str:
        """The words for the model."""
        return told(self.command, self.output, self.ended)


def told(command: str, output: str, ended: str) -> str:
    """What the model is told of a command of the user's own."""
    output = output.strip("\n")
    cut = "" if len(output) <= TOLD_CHARS else "[the beginning is left out]\n"
    return f"[I ran this in my own shell: {command}]\n[{ended}]\n{cut}{output[-TOLD_CHARS:]}"


def untold(rows: Iterable[dict[str, Any]]) -> list[str]:
    """What a session's log holds of such commands that the model was not told yet: those after its last prompt."""
    waiting: list[str] = []
    wanted = (UserCommand.type, RunStarted.type)  # thousands of other rows need not be understood for this
    for event in events_of(row for row in rows if row.get("type") in wanted):
        match event.body:
            case UserCommand(command=command, output=output, ended=ended):
                waiting.append(told(command, output, ended))
            case RunStarted():
                waiting.clear()
            case _:
                pass
    return waiting
