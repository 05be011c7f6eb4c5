"""`--notify CMD`: the user's own command, run when a run waits for an answer and when it has ended.

It runs outside the sandbox with the user's environment. What happened is in variables of the environment; nothing that
a model wrote is ever a part of the command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping

from pool.agent.hub import EventHub
from pool.events import ApprovalAsked, Event, Notice, QuestionAsked, RunFinished
from pool.headless.plain import one_line

LIMIT_SECONDS = 30.0
"""So long the command may take; then it is killed with all it started."""

MOST_CHARS = 300
"""Of a text in a variable."""

SHELL = "/bin/sh"


class Notifier:
    """Runs the command for the events of one session."""

    def __init__(self, command: str, hub: EventHub, workspace: str) -> None:
        self._command = command
        self._hub = hub
        self._workspace = workspace
        self._tasks: set[asyncio.Task[None]] = set()
        self._watching = asyncio.create_task(self._watch(hub.subscribe()))

    async def close(self) -> None:
        """Wait for the commands that still run. The hub is to be closed before."""
        await self._watching
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _watch(self, events: AsyncIterator[Event]) -> None:
        async for event in events:
            if facts := facts_of(event, self._workspace):
                task = asyncio.create_task(self._run(facts))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _run(self, facts: Mapping[str, str]) -> None:
        if problem := await run_command(self._command, facts):
            self._hub.emit(Notice("warning", f"--notify: the command {problem}"))


def facts_of(event: Event, workspace: str) -> dict[str, str]:
    """What is told of an event, as variables; none of it where nobody is to be notified."""
    about = {"POOL_SESSION": event.envelope.session, "POOL_WORKSPACE": workspace}
    match event.body:
        case ApprovalAsked() as body:
            return {"POOL_EVENT": "asked", **about, "POOL_ASKED": _short(f"{body.name}: {body.preview}")}
        case QuestionAsked() as body:
            return {"POOL_EVENT": "asked", **about, "POOL_ASKED": _short(body.text)}
        case RunFinished() as body:
            return {
                "POOL_EVENT": "finished",
                **about,
                "POOL_REASON": body.reason.value,
                "POOL_EXIT_CODE": str(body.exit_code),
                "POOL_DETAIL": _short(body.detail),
                "POOL_TURNS": str(body.turns),
                "POOL_SECONDS": f"{body.seconds:.0f}",
                "POOL_TOKENS": str(body.usage.total),
                "POOL_FILES_CHANGED": str(len(body.changes)),
            }
        case _:
            return {}


async def run_command(command: str, facts: Mapping[str, str], limit: float = LIMIT_SECONDS) -> str:
    """Run a command of the user's; what went wrong, "" if nothing did. It never outlives the limit."""
    process = await asyncio.create_subprocess_exec(
        *(SHELL, "-c", command),
        env={**os.environ, **facts},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limit):
            status = await process.wait()
    except TimeoutError:
        return f"took more than {limit:.0f} s and was killed"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            await process.wait()
    return f"failed with exit status {status}" if status else ""


def _short(text: str) -> str:
    return one_line(text)[:MOST_CHARS]
