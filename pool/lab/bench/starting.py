"""One start of a server for a sweep: wait until it answers, know what its log said, end it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from pathlib import Path

from pool.config.settings import Settings
from pool.lab.serve.process import ServerProcess
from pool.lab.serve.serverlog import ServerLog
from pool.wire.endpoint import parse_endpoint
from pool.wire.probe import probe
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

POLL_SECONDS = 0.25
END_SECONDS = 60.0
"""A server with 70 GB to give back takes its time."""

ANSWER_SECONDS = 5.0
REFUSED = b"REFUSED "
"""How `pool serve` begins if it knows that a command will fail; nothing but the reasons follows."""

GIB = 1 << 30


class DidNotStart(Exception):
    """A start failed. The message holds the cause as far as the log tells it, and the log's place."""


@frozen
class Start:
    """What a start told: seconds until it answered, facts of its log, and memory of the machine in use, in GiB."""

    seconds: float
    facts: Mapping[str, float | str] = field(default_factory=dict[str, float | str])
    memory_gib: float | None = None
    command: str = ""


@asynccontextmanager
async def started(words: Sequence[str], settings: Settings, log: Path, limit_seconds: float) -> AsyncGenerator[Start]:
    """The server while the block runs. Raises `DidNotStart`."""
    if await _answers(settings):
        raise DidNotStart(f"something answers at {settings.base_url} already: stop it, or name another --base-url")
    log.unlink(missing_ok=True)
    began = time.monotonic()
    own = [sys.executable, "-m", "pool", *words[1:]] if words[0] == "pool" else list(words)
    process = ServerProcess(own, os.environ, log)
    ended = asyncio.create_task(process.wait())
    try:
        await _ready(settings, ended, log, limit_seconds)
        facts = facts_of(log)
        yield Start(time.monotonic() - began, facts, memory_in_use(), " ".join(words))
    finally:
        process.ask_to_end()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(ended), END_SECONDS)
        await process.close()
        await asyncio.gather(ended, return_exceptions=True)


def facts_of(log: Path) -> dict[str, float | str]:
    """What a log says about the server: resolved backends, memory, cache. Empty if it cannot be read."""
    read = ServerLog()
    with suppress(OSError):
        for _ in read.feed(log.read_bytes() + b"\n"):
            pass
    return dict(read.facts)


def memory_in_use(meminfo: Path = Path("/proc/meminfo")) -> float | None:
    """GiB of this machine's memory that is taken, as the seed told it; None where the system does not say."""
    try:
        rows = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        total, free = (int(rows[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError, IndexError):
        return None
    return (total - free) / GIB


async def _ready(settings: Settings, ended: asyncio.Task[int], log: Path, limit_seconds: float) -> None:
    deadline = time.monotonic() + limit_seconds
    while not await _answers(settings):
        if ended.done():
            raise DidNotStart(f"the server ended with status {ended.result()}: {_cause(log)}; its log is {log}")
        if time.monotonic() > deadline:
            raise DidNotStart(f"no answer after {limit_seconds:g} s: {_cause(log)}; --start-timeout gives it longer")
        await asyncio.sleep(POLL_SECONDS)


async def _answers(settings: Settings) -> bool:
    async with Transport(parse_endpoint(settings.base_url, settings.api_key, settings.headers)) as transport:
        return bool((await probe(transport, None, ANSWER_SECONDS)).models)


def _cause(log: Path) -> str:
    read, text = ServerLog(), b""
    with suppress(OSError):
        text = log.read_bytes()
        for _ in read.feed(text + b"\n"):
            pass
    if text.startswith(REFUSED):
        return " ".join(text.decode("utf-8", "replace").split())
    if problem := read.lasting:
        return f"{problem.words} ({problem.remedy})"
    return f"its last line was {read.last_line!r}" if read.last_line else "it said nothing"
