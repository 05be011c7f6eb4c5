"""Watching a server over its starts: until it answers, while it serves, when it dies, when it shall end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

from pool.lab.serve.clock import clock
from pool.lab.serve.health import READY, status_of
from pool.lab.serve.process import LOST, ServerProcess
from pool.lab.serve.serverlog import WORDS, Problem, Progress, ServerLog
from pool_tools.frozen import frozen

KILLED_STATUS = 137
LOG_MOST_BYTES = 64 * 1024 * 1024
"""A log that has grown beyond this begins anew; one older piece is kept."""

_READ_BYTES = 1 << 16


@frozen
class Launch:
    """What to start. url: where it says that it is ready. stop: words that end it from outside (a container's)."""

    words: Sequence[str]
    env: Mapping[str, str]
    url: str
    log: Path
    stop: Sequence[str] = ()


@frozen
class Pace:
    """Times of a watch. restarts: so many in a row; one that served for calm_seconds begins a new row."""

    look_seconds: float = 0.5
    ready_look_seconds: float = 5.0
    """How often a server that is ready is asked whether it still answers; it logs each time."""

    first_wait_seconds: float = 1.0
    most_wait_seconds: float = 300.0
    restarts: int = 5
    calm_seconds: float = 600.0
    stop_seconds: float = 30.0
    deaf_seconds: float = 120.0
    """A server that was ready and answers nothing for so long is started anew."""

    quiet_seconds: float = 60.0
    """After so long without a line it is said that this is so."""


@frozen
class Said:
    """One thing to tell: what happened, in words, and the same for programs."""

    kind: str
    words: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    remedy: str = ""
    passing: bool = False
    """Whether the next one takes its place, where a line can be rewritten."""


class Watch:
    """Keeps one server running. Everything that happens is given to say, in order."""

    def __init__(self, launch: Launch, say: Callable[[Said], None], pace: Pace) -> None:
        self._launch = launch
        self._say = say
        self._pace = pace
        self._stopping = asyncio.Event()
        self._now = asyncio.Event()
        self.started_seconds = 0.0
        """How long the last start took, 0 before one succeeded."""

    def stop(self) -> None:
        """End the server in order; a second call kills it."""
        (self._now if self._stopping.is_set() else self._stopping).set()

    async def run(self) -> bool:
        """Watch until `stop`, or until the server fails for good; whether it was ended in order.

        Raises `OSError` if the log cannot be written or the program that holds processes together cannot be started.
        """
        failed = 0
        while True:
            begun = time.monotonic()
            life = Life(self._launch, self._say, self._pace, self._stopping, self._now)
            status = await life.run()
            self.started_seconds = life.ready_seconds or self.started_seconds
            if self._stopping.is_set():
                self._say(Said("stopped", "the server has ended", {"status": status}))
                return True
            failed = 1 if time.monotonic() - begun >= self._pace.calm_seconds else failed + 1
            wait = self._tell_end(life, status, failed)
            if wait is None:
                return False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), wait)
            if self._stopping.is_set():
                self._say(Said("stopped", "ended while it waited to start the server again", {"status": status}))
                return True

    def _tell_end(self, life: Life, status: int, failed: int) -> float | None:
        """Tell of an end that nobody wanted; the seconds until the next try, None if there is none."""
        lasting = life.log.lasting if not life.ready_seconds else None
        data = {"status": status, "line": life.log.last_line, "error": life.log.error, "failed": failed}
        line = life.log.error or life.log.last_line or "(none)"
        words = (
            f"the server ended: {status_words(status)}; {'its error' if life.log.error else 'its last line'}: {line}"
        )
        if lasting or failed > self._pace.restarts:
            why = f"that would come again: {lasting.words}" if lasting else f"it has ended {failed} times in a row"
            remedy = lasting.remedy if lasting else f"see the log: {self._launch.log}"
            self._say(Said("gave-up", f"{words}; {why}", data, remedy))
            return None
        wait = min(self._pace.first_wait_seconds * 2 ** (failed - 1), self._pace.most_wait_seconds)
        more = f"starting it again in {wait:g} s, try {failed} of {self._pace.restarts}"
        self._say(Said("ended", f"{words}; {more}", {**data, "wait_seconds": wait}))
        return wait


class Life:
    """One start of the server, to its end."""

    def __init__(
        self, launch: Launch, say: Callable[[Said], None], pace: Pace, stopping: asyncio.Event, now: asyncio.Event
    ) -> None:
        self._launch = launch
        self._say = say
        self._pace = pace
        self._stopping = stopping
        self._now = now
        self.log = ServerLog()
        self.ready_seconds = 0.0

    async def run(self) -> int:
        """Start, watch, and end it if that is wished; the exit status."""
        keep_log(self._launch.log)
        process = ServerProcess(self._launch.words, self._launch.env, self._launch.log)
        self._begun = time.monotonic()
        self._say(Said("started", f"started; log: {self._launch.log}", {"log": str(self._launch.log)}))
        ended = asyncio.create_task(process.wait())
        stop = asyncio.create_task(self._stopping.wait())
        with self._launch.log.open("rb") as file:
            looking = asyncio.create_task(self._look(file))
            try:
                await asyncio.wait({ended, stop, looking}, return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    await self._end(process, ended)
            finally:
                await process.close()
                for task in (stop, looking):
                    task.cancel()
                await asyncio.gather(ended, stop, looking, return_exceptions=True)
            while self._tell(file.read(_READ_BYTES)):
                pass
        return LOST if ended.cancelled() or ended.exception() else ended.result()

    async def _end(self, process: ServerProcess, ended: asyncio.Task[int]) -> None:
        self._say(Said("ending", f"ending it; up to {self._pace.stop_seconds:g} s, a second signal kills it"))
        if self._launch.stop:
            await _run_quietly(self._launch.stop)
        process.ask_to_end()
        now = asyncio.create_task(self._now.wait())
        await asyncio.wait({ended, now}, timeout=self._pace.stop_seconds, return_when=asyncio.FIRST_COMPLETED)
        now.cancel()
        if not ended.done():
            self._say(Said("killed", "it did not end by itself and is killed"))

    async def _look(self, file: BinaryIO) -> None:
        """Read the log and ask the server, again and again; returns when it should be ended for not answering."""
        heard = answered = time.monotonic()
        while True:
            await asyncio.sleep(self._pace.ready_look_seconds if self.ready_seconds else self._pace.look_seconds)
            if self._tell(file.read(_READ_BYTES)):
                heard = time.monotonic()
            elif not self.ready_seconds and time.monotonic() - heard >= self._pace.quiet_seconds:
                heard = time.monotonic()
                self._tell_quiet()
            if file.tell() > LOG_MOST_BYTES:
                begin_anew(self._launch.log)
                file.seek(0)
            status = await status_of(self._launch.url)
            if status == READY:
                answered = time.monotonic()
                self._tell_ready()
            elif self.ready_seconds and time.monotonic() - answered >= self._pace.deaf_seconds:
                self._say(Said("deaf", f"no answer from {self._launch.url} for {self._pace.deaf_seconds:g} s"))
                return

    def _tell(self, data: bytes) -> bool:
        for news in self.log.feed(data):
            if not self.ready_seconds or isinstance(news, Problem):
                self._say(self._said(news))
        return bool(data)

    def _said(self, news: Progress | Problem) -> Said:
        if isinstance(news, Problem):
            data = {"name": news.name, "lasting": news.lasting, "line": news.line}
            return Said("problem", news.words, data, news.remedy)
        counted = f", {news.done} of {news.of}" if news.of else ""
        data = {"phase": news.phase.value, "done": news.done, "of": news.of, "seconds": self._seconds()}
        return Said("phase", f"{WORDS[news.phase]}{counted}", data, passing=0 < news.done < news.of)

    def _tell_quiet(self) -> None:
        words = f"nothing new in the log for {self._pace.quiet_seconds:g} s; last: {WORDS[self.log.progress.phase]}"
        self._say(Said("quiet", words, {"seconds": self._seconds()}))

    def _tell_ready(self) -> None:
        if not self.ready_seconds:
            self.ready_seconds = self._seconds()
            data = {"seconds": self.ready_seconds, "url": self._launch.url, "facts": dict(self.log.facts)}
            self._say(Said("ready", f"ready after {clock(self.ready_seconds)}", data))

    def _seconds(self) -> float:
        return round(time.monotonic() - self._begun, 1)


def status_words(status: int) -> str:
    """An exit status in words."""
    match status:
        case _ if status == LOST:
            return "killed, without an exit status"
        case _ if status == KILLED_STATUS:
            return "killed by signal 9, by hand or by the kernel when memory ran out"
        case 127:
            return "exit status 127, its program could not be started"
        case _ if status > 128:
            return f"killed by signal {status - 128}"
        case _:
            return f"exit status {status}"


def keep_log(log: Path) -> None:
    """Make the folder of a log, private; the log of the start before becomes `.1`."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.replace(log, log.with_name(f"{log.name}.1"))
    log.touch(mode=0o600)


def begin_anew(log: Path) -> None:
    """Empty a log that is being appended to; what it held becomes `.1`."""
    shutil.copyfile(log, log.with_name(f"{log.name}.1"))
    os.truncate(log, 0)


async def _run_quietly(words: Sequence[str]) -> None:
    with contextlib.suppress(OSError):
        null = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*words, stdin=null, stdout=null, stderr=null)
        await process.wait()
