"""A watched server: real processes, with a program in vLLM's place."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pool.lab.serve.health import NOBODY, READY, status_of, taken
from pool.lab.serve.watch import Launch, Pace, Said, Watch, begin_anew, keep_log, status_words
from tests.lab.serve import standin

QUICK = Pace(look_seconds=0.02, ready_look_seconds=0.02, first_wait_seconds=0.01, restarts=2, stop_seconds=20.0)
WAIT_SECONDS = 40.0
PROGRAM = Path(standin.__file__)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Watched:
    """A watch that runs, and what it has said."""

    def __init__(self, folder: Path, what: str, pace: Pace, stop: tuple[str, ...] = ()) -> None:
        port = free_port()
        self.log = folder / "serve" / "log"
        words = [sys.executable, "-S", str(PROGRAM), what, str(port)]
        self.url = f"http://127.0.0.1:{port}/health"
        self._said: asyncio.Queue[Said] = asyncio.Queue()
        self.all: list[Said] = []
        self.watch = Watch(Launch(words, dict(os.environ), self.url, self.log, stop), self._say, pace)
        self.task = asyncio.create_task(self.watch.run())

    def _say(self, said: Said) -> None:
        self.all.append(said)
        self._said.put_nowait(said)

    async def until(self, kind: str) -> Said:
        async with asyncio.timeout(WAIT_SECONDS):
            while (said := await self._said.get()).kind != kind:
                assert said.kind != "gave-up", said
            return said

    async def end(self) -> bool:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.task

    def kinds(self) -> list[str]:
        return [said.kind for said in self.all if said.kind not in ("phase", "problem")]


@asynccontextmanager
async def watched(folder: Path, what: str, pace: Pace = QUICK, stop: tuple[str, ...] = ()) -> AsyncGenerator[Watched]:
    one = Watched(folder, what, pace, stop)
    try:
        yield one
    finally:
        one.watch.stop()
        one.watch.stop()
        await asyncio.wait_for(asyncio.gather(one.task, return_exceptions=True), WAIT_SECONDS)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_started_ready_and_ended_in_order(tmp_path: Path) -> None:
    async with watched(tmp_path, "polite") as one:
        ready = await one.until("ready")
        assert ready.data["facts"]["kv_tokens"] == 977_533.0
        assert await status_of(one.url) == READY
        one.watch.stop()
        assert await one.end()
        assert one.watch.started_seconds > 0
    assert one.kinds() == ["started", "ready", "ending", "stopped"]
    assert one.log.read_text().endswith("shutting down\n")
    assert await status_of(one.url) == NOBODY
    phases = [said.data["phase"] for said in one.all if said.kind == "phase"]
    assert phases[0] == "weights"
    assert phases[-1] == "serving"


async def test_killed_and_started_again(tmp_path: Path) -> None:
    async with watched(tmp_path, "polite") as one:
        await one.until("ready")
        server = int(re.findall(r"server process \[(\d+)\]", one.log.read_text())[0])
        os.kill(server, signal.SIGKILL)
        ended = await one.until("ended")
        assert "signal 9" in ended.words
        await one.until("ready")
        one.watch.stop()
        assert await one.end()


async def test_what_would_come_again_is_not_tried_again(tmp_path: Path) -> None:
    async with watched(tmp_path, "no-cache") as one:
        assert not await one.end()
    assert one.kinds() == ["started", "gave-up"]
    assert "pool serve plan" in one.all[-1].remedy
    assert one.all[-1].data["status"] == 1


async def test_it_is_tried_so_often_and_no_more(tmp_path: Path) -> None:
    async with watched(tmp_path, "crash") as one:
        assert not await one.end()
    assert one.kinds() == ["started", "ended", "started", "ended", "started", "gave-up"]
    waits = [said.data["wait_seconds"] for said in one.all if said.kind == "ended"]
    assert waits == [0.01, 0.02]
    assert str(one.log) in one.all[-1].remedy
    assert standin.CRASH in one.log.read_text()
    assert standin.CRASH in one.log.with_name("log.1").read_text()


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    said: list[Said] = []
    launch = Launch([str(tmp_path / "none")], {}, "http://127.0.0.1:9/health", tmp_path / "log")
    assert not await Watch(launch, said.append, replace(QUICK, restarts=0)).run()
    assert "could not be started" in said[-1].words


async def test_the_whole_tree_of_a_stubborn_one_is_killed(tmp_path: Path) -> None:
    async with watched(tmp_path, "stubborn", replace(QUICK, stop_seconds=0.05)) as one:
        await one.until("ready")
        child = int(one.log.read_text().split()[1])
        assert lives(child)
        one.watch.stop()
        assert await one.end()
    assert "killed" in one.kinds()
    assert not lives(child)


async def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    async with watched(tmp_path, "stubborn", replace(QUICK, stop_seconds=1_000.0)) as one:
        await one.until("ready")
        one.watch.stop()
        await one.until("ending")
        one.watch.stop()
        assert await one.end()
    assert "killed" in one.kinds()


async def test_one_that_answers_no_more_is_started_again(tmp_path: Path) -> None:
    async with watched(tmp_path, "unwell", replace(QUICK, deaf_seconds=0.1)) as one:
        await one.until("ready")
        await one.until("deaf")
        await one.until("ended")
        await one.until("started")


async def test_ended_while_it_waits(tmp_path: Path) -> None:
    async with watched(tmp_path, "crash", replace(QUICK, first_wait_seconds=1_000.0)) as one:
        await one.until("ended")
        one.watch.stop()
        assert await one.end()
    assert one.kinds()[-1] == "stopped"


async def test_silence_is_told(tmp_path: Path) -> None:
    async with watched(tmp_path, "polite", replace(QUICK, quiet_seconds=0.0)) as one:
        await one.until("quiet")


async def test_a_container_is_stopped_by_its_own_program(tmp_path: Path) -> None:
    mark = tmp_path / "stopped"
    async with watched(tmp_path, "polite", stop=("touch", str(mark))) as one:
        await one.until("ready")
        one.watch.stop()
        assert await one.end()
    assert mark.exists()


async def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert await taken("127.0.0.1", port)
    assert not await taken("127.0.0.1", port)


def test_a_log_that_grew_begins_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    keep_log(log)
    with log.open("ab") as file:
        file.write(b"old\n")
        file.flush()
        begin_anew(log)
        file.write(b"new\n")
    assert log.read_text() == "new\n"
    assert log.with_name("log.1").read_text() == "old\n"
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "status 0"), (1, "status 1"), (137, "memory"), (143, "signal 15"), (127, "started"), (-1, "without")],
)
def test_exit_statuses_in_words(status: int, words: str) -> None:
    assert words in status_words(status)
