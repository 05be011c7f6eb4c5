"""A live run shown by a foreground `pool run --on-hangup detach`, as if it worked there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Generator, Sequence

from pool.facekit.live.lines import LinkProblem
from pool.facekit.live.place import LiveRecord
from pool.facekit.live.remote import RemoteConversation
from pool.headless.output import JsonOutput, Output, Progress
from pool.stops import STOP_TABLE, StopReason

HUNG_UP = STOP_TABLE[StopReason.SIGNALLED].exit + signal.SIGHUP
READER_GONE = STOP_TABLE[StopReason.SIGNALLED].exit + signal.SIGPIPE
LOST = STOP_TABLE[StopReason.INTERNAL_ERROR].exit


async def follow(record: LiveRecord, faces: Sequence[Output | Progress], *, signals: bool = True) -> int:
    """Show a run to its end; its exit code. A terminal or a reader that is gone leaves it alone.

    signals: SIGINT and SIGTERM are handed on to the run, and SIGHUP leaves it; else they end this process alone.
    """
    try:
        run = await RemoteConversation.attach(record, stay=False)
    except LinkProblem:
        return LOST
    hung_up = asyncio.Event()
    showing = asyncio.create_task(_show(run, faces))
    leaving = asyncio.create_task(hung_up.wait())
    with _signals(record.pid, hung_up.set) if signals else contextlib.nullcontext():
        await asyncio.wait({showing, leaving}, return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if not showing.done():
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
        return HUNG_UP
    await run.detach()
    return showing.result()


async def _show(run: RemoteConversation, faces: Sequence[Output | Progress]) -> int:
    try:
        async for event in run.events():
            for face in faces:
                face.show(event)
        for face in faces:
            if isinstance(face, JsonOutput):
                face.release()
    except BrokenPipeError:
        return READER_GONE
    except OSError:
        return HUNG_UP
    except LinkProblem:
        return LOST
    return LOST if run.exit_code is None else run.exit_code


@contextlib.contextmanager
def _signals(pid: int, hang_up: Callable[[], object]) -> Generator[None]:
    loop = asyncio.get_running_loop()

    def hand_on(number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    loop.add_signal_handler(signal.SIGHUP, hang_up)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, hand_on, number)
    try:
        yield
    finally:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
