"""Attempts as processes of this machine, watched while they work. They end with the batch, however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from typing import Any, cast

from pool.agent.digest import result_of, runs_of
from pool.headless.batch.engine import Watch, command_of, ended_of
from pool.headless.batch.ledger import Attempt, Ended
from pool_tools.withparent import end_with_parent

LINE_LIMIT_BYTES = 64 * 1024 * 1024
END_SECONDS = 10.0
"""So long an attempt may take to end in order before it is killed."""

MOST_SAID_BYTES = 16 * 1024
KEPT_OUT = frozenset(
    {"reasoning.delta", "content.delta", "content.retracted", "call.progress", "call.output", "waiting"}
)
"""Kinds of events that are not kept for the result."""


class LocalEngine:
    """One process for each attempt."""

    async def work(self, attempt: Attempt, watch: Watch) -> Ended:
        """Work it. Raises OSError if the process cannot be started."""
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *command_of(attempt, "stream-json"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT_BYTES,
            start_new_session=True,
            preexec_fn=end_with_parent(),
        )
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        asking = asyncio.create_task(_ask(stdin, attempt.task.prompt))
        saying = asyncio.create_task(_said(stderr))
        try:
            rows = await _rows(stdout, watch)
            status = await process.wait()
        finally:
            await _end(process)
            await asyncio.gather(asking, saying, return_exceptions=True)
        runs = runs_of(rows)
        result = result_of(runs[-1]).to_dict() if runs else _early(rows)
        return ended_of(result, status, saying.result(), time.monotonic() - began, f"process {process.pid}")

    async def close(self) -> None:
        """Nothing is left: each attempt ends with its `work`."""


async def _ask(stdin: asyncio.StreamWriter, prompt: str) -> None:
    with contextlib.suppress(ConnectionError):
        stdin.write(prompt.encode("utf-8", "replace"))
        await stdin.drain()
    stdin.close()


async def _rows(stdout: asyncio.StreamReader, watch: Watch) -> list[dict[str, Any]]:
    """The events of the run that are kept; watch gets all."""
    kept: list[dict[str, Any]] = []
    while line := await stdout.readline():
        try:
            value: Any = json.loads(line)
        except ValueError:
            continue
        row = cast(dict[str, Any], value)
        watch(row)
        if row.get("type") not in KEPT_OUT:
            kept.append(row)
    return kept


async def _said(stderr: asyncio.StreamReader) -> str:
    """The end of what the process said."""
    kept = b""
    while data := await stderr.read(MOST_SAID_BYTES):
        kept = (kept + data)[-MOST_SAID_BYTES:]
    return kept.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process that still runs, in order if it can."""
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _early(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of a run that never began: its last event says why."""
    return result_of(rows).to_dict() if rows else {}
