"""Esc, in every state of a run: it ends in a second, the server sees the socket close, the next prompt works."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from pool.events import CallFinished, CallProgress, ReasoningDelta, StopReason, Waiting
from tests.cases.driver import ModelServer, Step, answer, call, delta, driving, piece, refuse, send
from tests.wire.scripted import Exchange

STOP_SECONDS = 1.0
"""Esc ends everything within this time."""


async def silent(exchange: Exchange) -> None:
    """Neither headers nor a byte."""
    await asyncio.sleep(30)


async def prefilling(exchange: Exchange) -> None:
    await exchange.start()
    await asyncio.sleep(30)


async def endless(exchange: Exchange) -> None:
    await exchange.start()
    while True:
        await send(exchange, delta(reasoning="and so on "))
        await asyncio.sleep(0.01)


async def endless_arguments(exchange: Exchange) -> None:
    await exchange.start()
    await send(exchange, piece(id="c1", name="write", arguments='{"path":"a.txt","content":"'))
    while True:
        await send(exchange, piece(arguments="and so on "))
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("step", "sign"),
    [
        pytest.param(silent, Waiting, id="before the headers"),
        pytest.param(prefilling, Waiting, id="prefill"),
        pytest.param(endless, ReasoningDelta, id="streaming"),
        pytest.param(endless_arguments, CallProgress, id="arguments"),
    ],
)
async def test_WIRE_10_esc_closes_the_socket(step: Step, sign: type[Waiting], tmp_path: Path) -> None:
    """Within a second; and the next prompt finds a history that a strict server takes."""
    closed: list[float] = []

    async def watched(exchange: Exchange) -> None:
        writing = asyncio.ensure_future(step(exchange))
        try:
            await exchange.client_closed()
            closed.append(time.monotonic())
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        exchange.keep = False

    async with ModelServer(watched, answer("Back.")) as server, driving(server.url, tmp_path) as driver:
        running = asyncio.create_task(driver.run())
        await driver.until_body(sign)
        await until_asked(server, 1)
        pressed = time.monotonic()
        run, seconds = await driver.stop(running)
        assert (run.reason, run.finished.exit_code) == (StopReason.INTERRUPTED, 130)
        assert seconds < STOP_SECONDS
        again = await driver.run("Once more.")
        assert again.answer == "Back."
        assert closed[0] - pressed < STOP_SECONDS
    assert server.complaints == []
    assert len(server.bodies) == 2
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        pytest.param([refuse(429, "slow down", Retry_After="600")], "queued", id="WIRE-13 429"),
        pytest.param([refuse(503, "Loading model", Retry_After="600")], "loading", id="WIRE-14 503"),
    ],
)
async def test_WIRE_13_esc_ends_the_servers_wait(steps: list[Step], state: str, tmp_path: Path) -> None:
    async with ModelServer(*steps, answer("Back.")) as server, driving(server.url, tmp_path) as driver:
        running = asyncio.create_task(driver.run())
        event = await driver.until(lambda e: isinstance(e.body, Waiting) and e.body.state == state)
        assert isinstance(event.body, Waiting)
        assert event.body.seconds >= 600
        run, seconds = await driver.stop(running)
        assert (run.reason, seconds < STOP_SECONDS) == (StopReason.INTERRUPTED, True)
        assert (await driver.run("Once more.")).answer == "Back."


async def test_WIRE_10_esc_while_nobody_listens(tmp_path: Path) -> None:
    async with ModelServer(answer("Never.")) as server:
        url = server.url
    async with driving(url, tmp_path, first_contact_seconds=60.0) as driver:
        running = asyncio.create_task(driver.run())
        await driver.until(lambda e: isinstance(e.body, Waiting) and e.body.state == "connecting")
        run, seconds = await driver.stop(running)
    assert (run.reason, seconds < STOP_SECONDS) == (StopReason.INTERRUPTED, True)


async def test_WIRE_10_esc_ends_a_running_command_and_its_children(tmp_path: Path) -> None:
    command = "sleep 31 & echo $! > child.pid; echo $$ > shell.pid; echo started; wait"
    async with ModelServer(call("shell", command=command), answer("Back.")) as server:
        async with driving(server.url, tmp_path) as driver:
            running = asyncio.create_task(driver.run())
            await until_file(tmp_path / "shell.pid")
            run, seconds = await driver.stop(running)
            assert (run.reason, seconds < STOP_SECONDS) == (StopReason.INTERRUPTED, True)
            assert [c.status for c in run.of(CallFinished)] == ["interrupted"]
            assert (await driver.run("Once more.")).answer == "Back."
        for name in ("shell.pid", "child.pid"):
            assert not Path("/proc", (tmp_path / name).read_text().strip()).exists()
    assert server.complaints == []
    assert "nterrupted" in str(server.bodies[1]["messages"][3]["content"])


async def until_asked(server: ModelServer, count: int) -> None:
    async with asyncio.timeout(5):
        while len(server.bodies) < count:
            await asyncio.sleep(0.005)


async def until_file(path: Path) -> None:
    async with asyncio.timeout(5):
        while not path.exists() or not path.read_text().strip():
            await asyncio.sleep(0.01)
