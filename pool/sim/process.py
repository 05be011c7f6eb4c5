"""Running a simulated server: here until a signal, on a thread, or as a process of its own."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from pool.sim.cheats import check_cheat
from pool.sim.connections import Connections
from pool.sim.faults import parse_fault
from pool.sim.server import SimServer
from pool.sim.settings import SimSettings

START_SECONDS = 10.0
STOP_SECONDS = 5.0
BACKLOG_CONNECTIONS = 128


@dataclass(frozen=True, slots=True)
class RunningSim:
    """A server that can be spoken to. url has no path. seen: bodies of chat requests so far (empty for a process)."""

    url: str
    seen: list[dict[str, Any]]


def serve(settings: SimSettings, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM, and return then. announce gets the URL once it can be connected to.

    Raises ValueError for an unknown fault or cheat, and OSError if the address cannot be used. Only on the main thread.
    """
    server, listener, sim = _prepare(settings)

    def stop(number: int, frame: object) -> None:
        server.should_exit = True

    # For a signal that comes before uvicorn takes them; after it has stopped it raises those it took once more.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        announce(url_of(listener))
        asyncio.run(_until_stopped(server, listener, sim))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def running(settings: SimSettings) -> Generator[RunningSim]:
    """A server on a thread of this process, stopped at the end. Raises as `serve`."""
    server, listener, sim = _prepare(settings)
    thread = threading.Thread(
        target=asyncio.run, args=(_until_stopped(server, listener, sim),), name="pool-sim", daemon=True
    )
    thread.start()
    try:
        yield RunningSim(url_of(listener), sim.seen)
    finally:
        server.should_exit = True
        thread.join(STOP_SECONDS)


@contextmanager
def spawned(arguments: Sequence[str] = ()) -> Generator[RunningSim]:
    """A server as a process, with command line arguments (`pool.sim.cli`); a free port unless they name one.

    Raises RuntimeError, with what it said, if it does not start.
    """
    command = [sys.executable, "-m", "pool.sim", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    watchdog = threading.Timer(START_SECONDS, process.kill)
    watchdog.start()
    try:
        url = process.stdout.readline().strip()
        watchdog.cancel()
        if not url:
            raise RuntimeError(f"{' '.join(command)} did not start: {process.communicate()[1].strip()}")
        yield RunningSim(url, [])
    finally:
        watchdog.cancel()
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def url_of(listener: socket.socket) -> str:
    """The URL of a listening socket, without a path."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _prepare(settings: SimSettings) -> tuple[uvicorn.Server, socket.socket, SimServer]:
    faults = tuple(parse_fault(text) for text in settings.faults)
    check_cheat(settings.cheat)
    connections = Connections()
    sim = SimServer(settings, faults, connections)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Listening at once, so that whoever reads the URL can connect.
    listener = socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG_CONNECTIONS)
    # Connections inherit it. asyncio sets it only where the protocol is named, and each event would wait 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(
        sim.app(),
        http=connections.protocol(),
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        # Streams that still run are cut off at once when the server is told to stop.
        timeout_graceful_shutdown=0,
    )
    return uvicorn.Server(config), listener, sim


async def _until_stopped(server: uvicorn.Server, listener: socket.socket, sim: SimServer) -> None:
    """Serve until the server is told to stop, and leave nothing open."""
    try:
        await server.serve([listener])
    finally:
        sim.connections.abort()
        listener.close()
