"""Commands that run in the background: their output in bounded memory, their number and their lifetime limited."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pool_tools.api import ToolError
from pool_tools.commands import Commands
from pool_tools.process import Ended
from pool_tools.terminal import EscapeStripper, LineFolder

JOBS_AT_ONCE = 8
"""Jobs of one session that may run side by side."""

JOBS_KEPT = 32
"""Ended jobs whose output can still be read; of more, the oldest are forgotten."""

JOB_OUTPUT_CHARS = 200_000
"""Characters of a job's output that are kept, its last ones."""

SETTLE_SECONDS = 0.2
"""After new output more is awaited for so long, as it tends to come in several writes."""


class JobOutput:
    """The last characters of an output of any length, and how far they have been read."""

    def __init__(self, limit: int = JOB_OUTPUT_CHARS) -> None:
        self._limit = limit
        self._folder = LineFolder()
        self._stripper = EscapeStripper(self._folder)
        self._kept: deque[str] = deque()
        self._kept_chars = 0
        self._end = 0
        self._read_to = 0
        self._line_read = ""

    def feed(self, data: bytes) -> None:
        """Add raw output."""
        self._stripper.feed(data)
        self._keep(self._folder.take())

    def close(self) -> None:
        """The output is at its end."""
        self._stripper.close()
        self._keep(self._folder.take() + self._folder.line)
        self._folder.line = ""

    def _keep(self, text: str) -> None:
        if not text:
            return
        self._end += len(text)
        self._kept.append(text[-self._limit :])
        self._kept_chars += len(self._kept[-1])
        while self._kept_chars - len(self._kept[0]) >= self._limit:
            self._kept_chars -= len(self._kept.popleft())

    @property
    def fresh(self) -> bool:
        """Whether there is output that was not read yet."""
        return self._end > self._read_to or self._folder.line != self._line_read

    def read(self) -> tuple[str, int]:
        """The output since the last call as far as it is kept, and how many characters before it are lost.

        An unfinished line is part of it; the next call gives what has been added to it, or all of it if it began anew.
        """
        kept = "".join(self._kept)
        unread = self._end - self._read_to
        fresh = kept[-unread:] if unread else ""
        text = fresh + self._folder.line
        lost = unread - len(fresh)
        if not lost and self._line_read and text.startswith(self._line_read):
            text = text[len(self._line_read) :]
        self._read_to, self._line_read = self._end, self._folder.line
        return text, lost


@dataclass(slots=True)
class Job:
    """One job. ended is None while it runs; stopped says that it was ended on request, failure that it never ran.

    restored: what it had changed that was put back at its end.
    """

    id: str
    command: str
    limit: float
    output: JobOutput = field(default_factory=JobOutput)
    began: float = field(default_factory=time.monotonic)
    ended: Ended | None = None
    stopped: bool = False
    failure: str = ""
    restored: tuple[str, ...] = ()
    task: asyncio.Task[None] | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def running(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        return self.ended.seconds if self.ended else time.monotonic() - self.began


class Jobs:
    """The jobs of one session. All run on the event loop that starts them and end with `close`."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._jobs: dict[str, Job] = {}
        self._last = 0

    def all(self) -> tuple[Job, ...]:
        """The jobs that are known, oldest first."""
        return tuple(self._jobs.values())

    def get(self, job_id: str) -> Job:
        """The job of that id. Raises `ToolError` if there is none."""
        found = self._jobs.get(job_id.strip())
        if found is None:
            known = ", ".join(self._jobs) or "none"
            raise ToolError(f"There is no job {job_id.strip()!r}. Known jobs: {known}.")
        return found

    def start(self, command: str, limit: float, secrets: Sequence[str] = ()) -> Job:
        """Start a command that may run for limit seconds, with these secrets. Raises `ToolError` if too many run."""
        self._commands.secrets.environment(secrets)
        running = [job.id for job in self.all() if job.running]
        if len(running) >= JOBS_AT_ONCE:
            raise ToolError(f"{JOBS_AT_ONCE} jobs are running: {', '.join(running)}. Stop one first.")
        for job in self.all()[: max(0, len(self._jobs) - JOBS_KEPT)]:
            if not job.running:
                del self._jobs[job.id]
        self._last += 1
        job = Job(str(self._last), command, limit)
        self._jobs[job.id] = job
        job.task = asyncio.get_running_loop().create_task(self._run(job, secrets))
        return job

    async def _run(self, job: Job, secrets: Sequence[str]) -> None:
        def feed(data: bytes) -> None:
            job.output.feed(data)
            job.news.set()

        def restored(what: Sequence[str]) -> None:
            job.restored = tuple(what)

        try:
            job.ended = await self._commands.shell(job.command, job.limit, feed, restored, secrets)
        except ToolError as error:
            job.failure = str(error)
        except asyncio.CancelledError:
            job.stopped = True
        finally:
            job.ended = job.ended or Ended(None, (), False, time.monotonic() - job.began)
            job.output.close()
            job.news.set()

    async def wait(self, job: Job, seconds: float) -> None:
        """Until the job has unread output or has ended, for at most seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while job.running and not job.output.fresh:
                    job.news.clear()
                    await job.news.wait()
        await self.wait_for_end(job, min(seconds, SETTLE_SECONDS))

    @staticmethod
    async def wait_for_end(job: Job, seconds: float) -> None:
        """Until the job has ended, for at most seconds."""
        if job.task is not None:
            await asyncio.wait({job.task}, timeout=seconds)

    async def stop(self, job: Job) -> None:
        """End a job and all of its processes."""
        if job.task is not None and job.running:
            job.task.cancel()
            await asyncio.wait({job.task})

    async def close(self) -> None:
        """End all jobs; no process of them is left afterwards."""
        for job in self.all():
            await self.stop(job)
