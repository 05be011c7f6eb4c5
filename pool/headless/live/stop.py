"""`pool stop`: end a live run and its process; `--now` does not wait for it to end in order."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence

from pool.facekit.live.finding import NoSuchRun, by_id
from pool.facekit.live.place import LiveRecord, PlaceError, live_records
from pool.sessions.store import short_id
from pool_tools.supervisor import descendants

EXIT_FAILED, EXIT_NONE = 1, 2
END_SECONDS = 15.0
"""So long a run may take to end in order: its request is broken off, its commands end, its session closes."""

NOW_SECONDS = 3.0
"""The same before it is killed, with `--now`."""

LOOK_SECONDS = 0.1


def parser() -> argparse.ArgumentParser:
    """The flags of `pool stop`."""
    p = argparse.ArgumentParser(
        prog="pool stop",
        description="End a detached run: it is told to stop, its commands end, and its session stays readable.",
        epilog="Exit codes: 0 it has ended, 1 it has not, 2 there is no such run.",
    )
    p.add_argument("id", metavar="ID", help="the run, by the beginning or end of its id (pool ps)")
    p.add_argument("--now", action="store_true", help=f"kill it if it has not ended after {NOW_SECONDS:.0f} s")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool stop`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
        record = by_id(args.id)
    except SystemExit as error:
        return int(error.code or 0)
    except (NoSuchRun, PlaceError) as error:
        sys.stderr.write(f"pool stop: {error}\n")
        return EXIT_NONE
    name = short_id(record.session)
    if asyncio.run(stop(record, now=args.now)):
        print(f"{name} has ended")
        return 0
    sys.stderr.write(f"pool stop: {name} (process {record.pid}) does not end; pool stop --now {name} kills it\n")
    return EXIT_FAILED


async def stop(record: LiveRecord, *, now: bool) -> bool:
    """End a run and its process; whether they have ended. now: they are killed if they do not."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(record.pid, signal.SIGINT)
    if await _gone(record, NOW_SECONDS if now else END_SECONDS):
        return True
    if not now:
        return False
    for pid in (record.pid, *descendants(record.pid)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return await _gone(record, NOW_SECONDS)


async def _gone(record: LiveRecord, seconds: float) -> bool:
    """Whether nobody holds the record any more, within so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while any(one.session == record.session for one in live_records()):
                await asyncio.sleep(LOOK_SECONDS)
            return True
    return False
