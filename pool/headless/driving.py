"""`pool run -i stream-json`: a program sends prompts, steering, answers and settings, one JSON object a line."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from pool.agent.control import Conversation
from pool.agent.factory import Session
from pool.agent.state import Stop
from pool.events import Notice, RunFinished
from pool.headless import inputs
from pool.headless.live.obeying import Obedience
from pool.ports import Answer, ApprovalAnswer, ApprovalRequest, Question

CLOSED = "The program that answers has closed its input."
_READ_BYTES = 65_536


class ProgramThere:
    """Waits for the program's answers, which come by their ids; once its input has ended, the answer is no."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        await self.gone.wait()
        return ApprovalAnswer(False, "program", f"{CLOSED} {request.lift}".rstrip())

    async def question(self, question: Question) -> Answer | None:
        await self.gone.wait()
        return None


@dataclass(slots=True)
class Driven:
    """How a driven session ended: its last run, None if there was none; faults counts lines that were no use."""

    finished: RunFinished | None = None
    faults: int = 0
    left: Stop | None = None


@dataclass(slots=True)
class Driving:
    """Obeys the lines of a program until its input ends and all work is done."""

    session: Session
    program: ProgramThere
    asked: Callable[[str], str]
    ended: Driven = field(default_factory=Driven)
    _lines: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue[bytes | None])

    async def run(self, first: str) -> Driven:
        """Work first, if it is not "", and then whatever comes on stdin."""
        obedience = Obedience(Conversation(self.session), asked=self.asked)
        if first:
            obedience.take(inputs.Prompt(first))
        _Reader(_stdin(), asyncio.get_running_loop(), self._lines).start()
        number = 0
        while (line := await self._lines.get()) is not None:
            number += 1
            if not line.strip():
                continue
            try:
                wanted = inputs.read_input(line)
                if isinstance(wanted, inputs.EndInput):
                    break
                refused = obedience.take(wanted)
                # A stop may come just after the end of what it is for.
                if refused and not isinstance(wanted, inputs.StopInput):
                    raise inputs.InputProblem(refused)
            except inputs.InputProblem as error:
                self.ended.faults += 1
                self.session.hub.emit(Notice("error", f"input line {number}: {error}"))
            # What was begun gets to its first step, so that the next line finds it working.
            await asyncio.sleep(0)
        self.program.gone.set()
        await obedience.settled()
        self.ended.finished = obedience.finished
        return self.ended

    def leave(self, stop: Stop) -> None:
        """End the run that works, and take no further lines."""
        self.ended.left = self.ended.left or stop
        self.session.agent.stop(stop)
        self._lines.put_nowait(None)


def _stdin() -> int:
    """The number of stdin; one that cannot be read where it is closed."""
    try:
        return sys.stdin.fileno() if sys.stdin else -1
    except (OSError, ValueError):
        return -1


class _Reader(threading.Thread):
    """Reads lines in a thread of its own: stdin may be a file, which an event loop cannot wait for.

    Nothing waits for the thread, and it holds no lock of Python's while it reads.
    """

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes | None]) -> None:
        super().__init__(name="pool-input", daemon=True)
        self._fd = fd
        self._loop = loop
        self._lines = lines

    def run(self) -> None:
        rest = b""
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except OSError:
                data = b""
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > inputs.LINE_LIMIT_BYTES:
                # Told as a line that is no JSON; what follows of it is one more.
                lines.append(rest[:1])
                rest = b""
            if not data:
                lines.append(rest)
            try:
                for line in lines:
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
                if not data:
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, None)
            except RuntimeError:
                return  # the loop has ended
            if not data:
                return
