"""A server's process: messages over its standard streams, one a line, with bounds for a server that runs wild."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from pool.extend.mcp.stderr import StderrTail
from pool_tools.sandbox.base import Launch
from pool_tools.supervisor import descendants, send

MESSAGE_BYTES_MOST = 32 * 1024 * 1024
"""A longer line ends the connection."""

JUNK_LINES_MOST = 200
"""Lines that are no messages, such as a banner, are passed over; after so many the connection ends."""

UNASKED_MOST = 5_000
"""So many messages in a row that answer nothing end the connection."""

GRACE_SECONDS = 0.5
"""How long a server may take to end once its input is closed, and again after SIGTERM."""

POLL_SECONDS = 0.01

Received = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def stdio_streams(
    launch: Launch, cwd: Path, stderr: StderrTail, ended: Callable[[str], object]
) -> AsyncGenerator[Streams]:
    """Start a server and speak to it; ended gets why it stopped to be spoken to. Raises OSError.

    When this is left, no process of the server is there any more.
    """
    # From the loop's own thread: where a sandbox dies with its parent, the parent is a thread.
    process = await asyncio.create_subprocess_exec(
        *launch.argv,
        cwd=cwd,
        env=launch.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=launch.descriptors,
        start_new_session=True,
        limit=MESSAGE_BYTES_MOST,
    )
    to_session, from_server = anyio.create_memory_object_stream[Received](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(process, to_session, ended)),
        asyncio.create_task(_write(process, from_session)),
        asyncio.create_task(_keep_stderr(process, stderr)),
    ]
    try:
        yield from_server, to_server
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(process, tasks)))
        for stream in (to_session, from_server, to_server, from_session):
            stream.close()


async def _read(
    process: asyncio.subprocess.Process, to_session: MemoryObjectSendStream[Received], ended: Callable[[str], object]
) -> None:
    """Until the server ends or breaks a bound; then the session sees the connection closed."""
    assert process.stdout is not None
    why = "it ended"
    junk = unasked = 0
    try:
        async with to_session:
            while line := await process.stdout.readuntil(b"\n"):
                try:
                    message = jsonrpc_message_adapter.validate_json(line)
                except ValueError:
                    junk += 1
                    if junk > JUNK_LINES_MOST:
                        why = f"it wrote {junk} lines to its output that are no messages"
                        return
                    continue
                unasked = 0 if isinstance(message, JSONRPCResponse | JSONRPCError) else unasked + 1
                if unasked > UNASKED_MOST:
                    why = f"it sent {unasked:,} messages that nobody asked for"
                    return
                await to_session.send(SessionMessage(message))
    except asyncio.LimitOverrunError:
        why = f"it sent a message of more than {MESSAGE_BYTES_MOST:,} bytes"
    except asyncio.IncompleteReadError:
        if await _gone(process):
            why = f"it ended with status {process.returncode}"
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    finally:
        ended(why)


async def _write(process: asyncio.subprocess.Process, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for one in from_session:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()


async def _keep_stderr(process: asyncio.subprocess.Process, stderr: StderrTail) -> None:
    assert process.stderr is not None
    while data := await process.stderr.read(stderr.most):
        stderr.add(data)


async def _end(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]]) -> None:
    """Close the input, then terminate, then kill everything below; each step waits a moment."""
    reader, writer, keeper = tasks
    writer.cancel()
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _gone(process):
            break
        send([process.pid, *await asyncio.to_thread(descendants, process.pid)], number)
    await _gone(process)
    # What the server said last may still be in the pipes.
    await asyncio.wait({reader, keeper}, timeout=GRACE_SECONDS)
    reader.cancel()
    keeper.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await _drain(process)


async def _gone(process: asyncio.subprocess.Process) -> bool:
    """Whether it ends within the grace. Not by `wait`, which also waits for pipes that a child may hold open."""
    until = time.monotonic() + GRACE_SECONDS
    while process.returncode is None and time.monotonic() < until:
        await asyncio.sleep(POLL_SECONDS)
    return process.returncode is not None


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Read what is left, so that the pipe is seen to be closed."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(GRACE_SECONDS):
            while await process.stdout.read(MESSAGE_BYTES_MOST):
                pass
