"""`pool run` as a process: exit code, stdout and stderr for replies that go wrong, with its waits at full length.

Runs of one test go on at the same time, each against a server of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pool.events import STOP_TABLE, StopReason
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.cases.driver import (
    MODEL,
    ModelServer,
    Step,
    answer,
    broken,
    call,
    chunk,
    delta,
    finish,
    piece,
    refuse,
    say,
)
from tests.wire.scripted import Exchange

RUN_SECONDS = 50.0
STOP_SECONDS = 2.0
"""From a signal to the end of the process, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str


def command(url: str, workspace: Path, *flags: str) -> list[str]:
    workspace.mkdir(exist_ok=True)
    place = ["--base-url", url, "--model", MODEL, "-C", str(workspace), "--mode", "allow-all", "--sandbox", "off"]
    return [sys.executable, "-m", "pool", "run", "Do it.", *place, *flags]


async def start(argv: list[str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*argv, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe)


async def end(process: asyncio.subprocess.Process) -> Ended:
    """Wait for the end; out is "" if the process had no pipe for it."""
    try:
        out, err = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode is not None
    return Ended(process.returncode, (out or b"").decode(), err.decode())


async def pool_run(workspace: Path, *steps: Step, flags: tuple[str, ...] = ()) -> tuple[Ended, ModelServer]:
    """Run the command against steps."""
    async with ModelServer(*steps) as server:
        ended = await end(await start(command(server.url, workspace, *flags)))
    assert server.complaints == []
    return ended, server


async def test_WIRE_06_WIRE_08_WIRE_09_replies_that_fail_exit_75(tmp_path: Path) -> None:
    """Nothing of them reaches stdout; stderr says what happened."""
    fault = chunk({"error": {"message": "engine stopped", "code": 500}})
    runs = await asyncio.gather(
        pool_run(tmp_path / "06", broken("close", delta(content="The three causes are"))),
        pool_run(tmp_path / "08", say(delta(content="Working"), fault)),
        pool_run(tmp_path / "09", say(b": waiting\n\n")),
    )
    for (ended, server), word in zip(runs, ("broke", "engine stopped", "no data"), strict=True):
        assert (ended.code, ended.out) == (75, "")
        assert word in ended.err
        assert len(server.bodies) == 3


async def test_THINK_01_no_tag_in_the_output(tmp_path: Path) -> None:
    leak = say(*(delta(content=part) for part in ("Let me look.", "\n</think>\n", "The answer is 4.")), finish("stop"))
    ended, _ = await pool_run(tmp_path, leak, flags=("-v",))
    assert (ended.code, ended.out) == (0, "The answer is 4.\n")
    assert "think>" not in ended.err
    assert "Let me look." in ended.err


async def test_THINK_05_CALL_07_LOOP_02_nothing_usable_exits_8(tmp_path: Path) -> None:
    thought = say(delta(reasoning="… so the port is 8080."), finish("stop"))
    runs = await asyncio.gather(
        pool_run(tmp_path / "think", thought),
        pool_run(tmp_path / "call", say(delta(content=""), finish("tool_calls"))),
        pool_run(tmp_path / "stream", thought, flags=("-o", "stream-json")),
    )
    for ended, _ in runs:
        assert ended.code == 8
    assert runs[0][0].out == runs[1][0].out == ""
    events = [json.loads(line) for line in runs[2][0].out.splitlines()]
    assert (events[0]["type"], events[-1]["type"]) == ("run.started", "run.finished")
    assert (events[-1]["reason"], events[-1]["answer"]) == ("unusable_reply", "")
    assert "8080" in "".join(e["text"] for e in events if e["type"] == "reasoning.delta")
    assert [e["seq"] for e in events] == sorted({e["seq"] for e in events})


async def test_CALL_06_CALL_15_files_are_what_whole_calls_wrote(tmp_path: Path) -> None:
    cut = say(piece(id="c1", name="write", arguments='{"path":"a.txt","content":"done'), finish("tool_calls"))
    markup = "<tool_call>write<arg_key>path</arg_key><arg_value>b.txt</arg_value><arg_key>content</arg_key>"
    leaked = say(delta(content=f"{markup}<arg_value>B\n</arg_value></tool_call>"), finish("stop"))
    ended, _ = await pool_run(tmp_path, cut, leaked, answer("Done."), flags=("-o", "json"))
    assert ended.code == 0
    assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "b.txt").read_text() == "B\n"
    finished = json.loads(ended.out)
    assert [c["path"] for c in finished["changes"]] == ["b.txt"]
    assert finished["answer"] == "Done."


async def test_WIRE_13_WIRE_14_waits_are_shown_and_kept(tmp_path: Path) -> None:
    runs = await asyncio.gather(
        pool_run(tmp_path / "429", refuse(429, "slow down", Retry_After="2"), answer("Done."), flags=("-v",)),
        pool_run(tmp_path / "503", refuse(503, "Loading model"), answer("Done."), flags=("-v",)),
    )
    for (ended, server), least, word in zip(runs, (2.0, 1.0), ("queued", "loading"), strict=True):
        assert (ended.code, ended.out) == (0, "Done.\n")
        assert server.chats[1].at - server.chats[0].at >= least
        assert f"waiting ({word})" in ended.err


async def test_nobody_at_the_address_exits_75(tmp_path: Path) -> None:
    """Without a model named, and with one: both say where nothing listens."""
    async with ModelServer(answer("Never.")) as server:
        url = server.url
    argv = command(url, tmp_path, "--wait-server", "0.5")
    unnamed = [word for word in argv if word not in ("--model", MODEL)]
    processes = [await start(argv), await start(unnamed)]
    for ended in await asyncio.gather(*map(end, processes)):
        assert (ended.code, ended.out) == (75, "")
        assert "nothing listens" in ended.err or f"127.0.0.1:{server.port}" in ended.err
        assert "Traceback" not in ended.err


# -- signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_WIRE_10_a_signal_in_the_prefill(number: signal.Signals, tmp_path: Path) -> None:
    """The process ends, with its code, and the server sees the socket close."""
    closed = asyncio.Event()

    async def watched(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.client_closed()
        closed.set()
        exchange.keep = False

    async with ModelServer(watched) as server:
        process = await start(command(server.url, tmp_path, "-o", "json"))
        await until(lambda: bool(server.chats))
        sent = time.monotonic()
        process.send_signal(number)
        ended = await end(process)
        assert time.monotonic() - sent < STOP_SECONDS
        await asyncio.wait_for(closed.wait(), STOP_SECONDS)
    interrupted = number is signal.SIGINT
    expected = STOP_TABLE[StopReason.INTERRUPTED].exit if interrupted else 128 + number
    assert (ended.code, json.loads(ended.out)["exit_code"]) == (expected, expected)
    assert json.loads(ended.out)["reason"] == ("interrupted" if interrupted else "signalled")


async def test_WIRE_13_a_signal_in_the_servers_wait(tmp_path: Path) -> None:
    async with ModelServer(refuse(429, "slow down", Retry_After="600")) as server:
        process = await start(command(server.url, tmp_path))
        await until(lambda: bool(server.chats))
        await asyncio.sleep(0.1)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        ended = await end(process)
        assert time.monotonic() - sent < STOP_SECONDS
    assert (ended.code, ended.out) == (130, "")


async def test_WIRE_10_a_signal_while_a_command_runs(tmp_path: Path) -> None:
    """Nothing of it is left."""
    async with ModelServer(call("shell", command="sleep 33 & echo $! > child.pid; wait")) as server:
        process = await start(command(server.url, tmp_path))
        child = tmp_path / "child.pid"
        await until(lambda: child.exists() and bool(child.read_text().strip()))
        process.send_signal(signal.SIGINT)
        ended = await end(process)
    assert ended.code == 130
    await until(lambda: not Path("/proc", child.read_text().strip()).exists())


async def test_a_reader_that_goes_away_ends_the_run(tmp_path: Path) -> None:
    """`pool run | head -1`: the run ends with SIGPIPE's code, and the server sees the socket close."""

    async def endless(exchange: Exchange) -> None:
        await exchange.start()
        try:
            while True:
                await exchange.chunk(delta(content="and so on "))
                await asyncio.sleep(0.01)
        finally:
            exchange.keep = False

    async with ModelServer(endless) as server:
        reading, writing = os.pipe()
        argv = command(server.url, tmp_path, "-o", "stream-json")
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=writing, stderr=asyncio.subprocess.PIPE
        )
        os.close(writing)
        await asyncio.to_thread(os.read, reading, 10)
        os.close(reading)
        ended = await end(process)
    assert ended.code == 128 + signal.SIGPIPE
    assert "Traceback" not in ended.err


async def until(test: Callable[[], bool]) -> None:
    async with asyncio.timeout(RUN_SECONDS):
        while not test():
            await asyncio.sleep(0.01)


def test_the_servers_only_model_is_found(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("alpha\n")
    with running(SimSettings()) as sim:
        argv = [word for word in command(sim.url, tmp_path) if word not in ("--model", MODEL)]
        argv[argv.index("Do it.")] = "What does notes.txt say?"
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=RUN_SECONDS)
    assert (done.returncode, "notes.txt has 1 line" in done.stdout) == (0, True)
