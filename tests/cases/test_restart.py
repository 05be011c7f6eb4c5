"""A server that dies in the middle of a run and comes back on the same port: the run goes on, nothing is done twice."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pool.events import CallStarted, ContentDelta, ReasoningDelta, StopReason, Waiting
from pool.sim.settings import DEFAULT_MODEL
from tests.cases.driver import (
    ModelServer,
    Step,
    answer,
    call,
    delta,
    driving,
    piece,
    send,
    whole,
)
from tests.wire.scripted import Exchange

APPEND = "echo x >> once.txt"
AWAY_SECONDS = 0.2
UNTIL_SECONDS = 20.0


async def hang(exchange: Exchange) -> None:
    await asyncio.sleep(60)


def begin(*events: bytes) -> Step:
    """The beginning of a reply; the rest never comes."""

    async def step(exchange: Exchange) -> None:
        await exchange.start()
        await send(exchange, *events)
        await hang(exchange)

    return step


async def restart(server: ModelServer) -> None:
    await server.down()
    await asyncio.sleep(AWAY_SECONDS)
    await server.up()


@pytest.mark.parametrize(
    ("steps", "sign"),
    [
        pytest.param([hang, call("shell", command=APPEND), answer("Done.")], (Waiting, ""), id="in the prefill"),
        pytest.param(
            [begin(delta(reasoning="Let me")), call("shell", command=APPEND), answer("Done.")],
            (ReasoningDelta, "Let me"),
            id="in the first thought",
        ),
        pytest.param(
            [
                begin(delta(content="I append."), whole("shell", command=APPEND)),
                call("shell", "c2", command=APPEND),
                answer("Done."),
            ],
            (ContentDelta, "I append."),
            id="after a whole call, before the finish reason",
        ),
        pytest.param(
            [
                begin(delta(content="I append."), piece(id="c1", name="shell", arguments='{"command":"echo')),
                call("shell", "c2", command=APPEND),
                answer("Done."),
            ],
            (ContentDelta, "I append."),
            id="inside the arguments",
        ),
        pytest.param(
            [call("shell", command=f"{APPEND}; sleep 0.3"), answer("Done.")],
            (CallStarted, "shell"),
            id="while the command runs",
        ),
        pytest.param(
            [call("shell", command=APPEND), begin(delta(content="Do")), answer("Done.")],
            (ContentDelta, "Do"),
            id="in the answer",
        ),
    ],
)
async def test_WIRE_06_WIRE_07_restart(steps: list[Step], sign: tuple[type[Waiting], str], tmp_path: Path) -> None:
    async with ModelServer(*steps) as server, driving(server.url, tmp_path) as driver:
        running = asyncio.create_task(driver.run())
        await driver.until_body(*sign)
        while not server.bodies:
            await asyncio.sleep(0.005)
        await restart(server)
        run = await running
    assert server.complaints == []
    assert (run.answer, run.reason, run.calls) == ("Done.", StopReason.COMPLETED, [("shell", "ok")])
    assert (tmp_path / "once.txt").read_text() == "x\n"
    assert run.said[-1] == "Done."
    assert sum("Done." in said or "Do" in said for said in run.said) == 1


async def test_a_server_that_stays_away_ends_the_run(tmp_path: Path) -> None:
    """After the time that the user gives it; what was done stays done."""
    async with ModelServer(call("shell", command=APPEND), answer("Never.")) as server:
        async with driving(server.url, tmp_path, wait_server_seconds=0.6) as driver:
            running = asyncio.create_task(driver.run())
            await driver.until_body(CallStarted)
            await server.down()
            run = await running
        await server.up()
    assert (run.reason, run.finished.exit_code) == (StopReason.SERVER_FAILED, 75)
    assert (tmp_path / "once.txt").read_text() == "x\n"
    assert any(w.state == "connecting" for w in run.of(Waiting))


async def test_a_second_prompt_finds_the_restarted_server(tmp_path: Path) -> None:
    """Between two prompts: the kept connection is dead, the session goes on."""
    async with ModelServer(answer("One."), answer("Two.")) as server, driving(server.url, tmp_path) as driver:
        assert (await driver.run()).answer == "One."
        await restart(server)
        assert (await driver.run("And now?")).answer == "Two."
    assert len(server.bodies[1]["messages"]) == 4


@asynccontextmanager
async def simulator(port: int) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A simulated server as a process of its own, killed at the end."""
    command = (sys.executable, "-m", "pool.sim", "--port", str(port), "--rate", "40")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert await process.stdout.readline()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def free_port() -> int:
    """A port below the kernel's range for connections, so that no other test is given it while the server is down."""
    while True:
        port = random.randint(20_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


async def test_a_killed_simulator_is_found_again(tmp_path: Path) -> None:
    """SIGKILL in the middle of the second reply of a real process; its successor has seen nothing of the session."""
    (tmp_path / "notes.txt").write_text("alpha\nbeta\n")
    port = free_port()
    async with driving(f"http://127.0.0.1:{port}", tmp_path, model=DEFAULT_MODEL) as driver:
        async with simulator(port) as process:
            running = asyncio.create_task(driver.run("What does notes.txt say?"))
            await driver.until(lambda e: e.envelope.turn == 2 and isinstance(e.body, ReasoningDelta))
            process.kill()
            await process.wait()
        async with simulator(port):
            run = await asyncio.wait_for(running, UNTIL_SECONDS)
    assert (run.reason, run.calls) == (StopReason.COMPLETED, [("read", "ok")])
    assert "notes.txt" in run.answer
    assert {w.state for w in run.of(Waiting)} > {"prefill", "connecting"}
