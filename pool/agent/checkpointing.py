"""Checkpoints within a session: a look at the files before and after each call that may write, off the event loop.

Whatever goes wrong here is said, once, and never costs the run: the call then runs without a checkpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pool.agent.hub import EventHub
from pool.events import ChangedFile, CheckpointTaken, Notice
from pool_tools import Effect, ToolError
from pool_tools.blocking import CancelFlag, run_blocking
from pool_tools.text import plural, visible
from pool_tools.workspace import Workspace

if TYPE_CHECKING:
    # The code of checkpoints is imported with the first look: it would delay the first request.
    from pool.sessions.checkpoints.checkpoints import Checkpoints
    from pool.sessions.checkpoints.looks import Look, Skipped
    from pool.sessions.checkpoints.states import Changed

START_SECONDS = 0.3
"""The first look begins so long after the prompt: the request goes out first."""

WAIT_SECONDS = 1.0
"""A call that waits longer for the first look says so."""

SLOW_SECONDS = 2.0
"""A first look that took longer is worth a word."""

CHANGES_TOLD = 200
"""Changed files of one call that are told one by one."""

COUNT_SECONDS = 1.0
"""How long lines are counted after a call; files beyond have no counts."""


class Checkpointer:
    """Looks after the calls of one agent. One call that may write runs at a time."""

    def __init__(
        self,
        open_: Callable[[], Checkpoints],
        hub: EventHub,
        workspace: Workspace,
        *,
        jobs_running: Callable[[], bool] = lambda: False,
        only_reading: Callable[[], bool] = lambda: False,
    ) -> None:
        """open_ opens the session's checkpoints, in a thread. only_reading: commands could write nothing just now."""
        self._open = open_
        self._hub = hub
        self._workspace = workspace
        self._jobs_running = jobs_running
        self._only_reading = only_reading
        self._opening: asyncio.Task[Checkpoints | None] | None = None
        self._go = asyncio.Event()
        self._stop = threading.Event()
        self._turn = asyncio.Lock()
        self._path = ""
        self._open_call = False
        self._job_run = ""
        self._told: set[str] = set()

    def prepare(self) -> None:
        """Take the first look soon, in the background."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._opened())

    async def before(self, call: str, effect: Effect, args: Mapping[str, Any]) -> None:
        """Keep what the call could change. Returns when it is safe on disk."""
        self._open_call = False
        if effect is Effect.READ:
            return
        if effect is not Effect.WRITE and await asyncio.to_thread(self._only_reading):
            return
        path = await asyncio.to_thread(self._target, args) if effect is Effect.WRITE else ""
        if path is None:
            return
        checkpoints = await self.opened()
        if checkpoints is None:
            return
        self._path = path
        run, turn = self._hub.run, self._hub.turn
        try:
            async with self._turn:
                await self._after_jobs(checkpoints)
                taken = await run_blocking(lambda _: checkpoints.before(run, turn, call, path))
        except OSError as error:
            self._failed(error)
            return
        self._open_call = True
        skipped = taken.skipped
        self._hub.emit(
            CheckpointTaken(
                taken.number,
                taken.files,
                taken.copied_bytes,
                tuple(visible(n) for n in skipped.named),
                skipped.count,
                round(taken.seconds, 4),
                taken.first,
            ),
            call,
        )
        if taken.first and taken.seconds > SLOW_SECONDS:
            count = len(checkpoints.tree.sigs)
            text = f"the first look at {plural(count, 'file')} took {taken.seconds:.1f} s; later ones are quick"
            self._hub.emit(Notice("info", text))
        self._tell_skipped(skipped)

    async def after(self) -> tuple[ChangedFile, ...]:
        """What the call changed. Also of a call that is cancelled: the look is finished first."""
        if not self._open_call or self._opening is None or not self._opening.done():
            return ()
        self._open_call = False
        checkpoints = self._opening.result()
        if checkpoints is None:
            return ()
        path = self._path
        try:
            async with self._turn:
                look, changed = await run_blocking(lambda flag: _after(checkpoints, path, flag))
        except OSError as error:
            self._failed(error)
            return ()
        if self._jobs_running():
            self._job_run = self._hub.run
        self._tell_skipped(look.skipped)
        return changed

    async def opened(self) -> Checkpoints | None:
        """The session's checkpoints after their first look; None if there are none. Nothing is told twice."""
        self.prepare()
        assert self._opening is not None
        self._go.set()
        await asyncio.wait({self._opening}, timeout=WAIT_SECONDS)
        if not self._opening.done():
            self._tell("waits", "the first look at the files is not over yet; what may write waits for it", "info")
        return await asyncio.shield(self._opening)

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncGenerator[Checkpoints | None]:
        """The checkpoints for an undo while no call runs."""
        checkpoints = await self.opened()
        async with self._turn:
            yield checkpoints

    async def close(self) -> None:
        """Take a last look if jobs were running, and let go of the files."""
        if self._opening is None:
            return
        self._stop.set()
        self._go.set()
        checkpoints = await self._opening
        if checkpoints is not None:
            with contextlib.suppress(OSError):
                await self._after_jobs(checkpoints)
            await asyncio.to_thread(checkpoints.close)

    async def _opened(self) -> Checkpoints | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await self._go.wait()
        if self._stop.is_set():
            return None
        from pool.sessions.checkpoints.journal import JournalBusy
        from pool.sessions.checkpoints.looks import Stopped

        try:
            checkpoints = await asyncio.to_thread(_opened, self._open, self._stop)
        except Stopped:
            return None
        except (OSError, JournalBusy) as error:
            self._failed(error)
            return None
        for note in checkpoints.notes:
            self._hub.emit(Notice("warning", note))
        return checkpoints

    async def _after_jobs(self, checkpoints: Checkpoints) -> None:
        """Changes since the last look count as a job's if one was running."""
        if run := self._job_run:
            self._job_run = run if self._jobs_running() else ""
            await run_blocking(lambda _: checkpoints.by_job(run))

    def _target(self, args: Mapping[str, Any]) -> str | None:
        """The file that a tool writes, relative to the workspace; None if it lies elsewhere or is no file.

        What an editor has of it unsaved is saved first, so that it is kept too.
        """
        try:
            self._workspace.save_unsaved(str(args.get("path", "")))
            with self._workspace.locate(str(args.get("path", ""))) as place:
                return "/".join(place.parts) if self._workspace.is_main(place.root) and place.parts else None
        except (ToolError, OSError):
            return None

    def _failed(self, error: Exception) -> None:
        text = f"no checkpoint could be taken, so what is changed now cannot be undone: {error}"
        self._tell(text, text)

    def _tell_skipped(self, skipped: Skipped) -> None:
        new = [name for name in skipped.named if name not in self._told]
        self._told.update(new)
        if not new:
            return
        more = f" and {skipped.count - len(skipped.named):,} more" if skipped.count > len(skipped.named) else ""
        shown = "; ".join(visible(name) for name in new)
        self._hub.emit(Notice("warning", f"not kept for undo: {shown}{more}"))

    def _tell(self, key: str, text: str, level: str = "warning") -> None:
        if key not in self._told:
            self._told.add(key)
            self._hub.emit(Notice(level, text))


def _opened(open_: Callable[[], Checkpoints], stop: threading.Event) -> Checkpoints:
    from pool.sessions.checkpoints.looks import Stopped

    if stop.is_set():
        raise Stopped
    checkpoints = open_()
    checkpoints.tree.stop = stop
    try:
        checkpoints.begin()
    except BaseException:
        checkpoints.close()
        raise
    return checkpoints


def _after(checkpoints: Checkpoints, path: str, flag: CancelFlag) -> tuple[Look, tuple[ChangedFile, ...]]:
    look = checkpoints.after(path)
    until = time.monotonic() + COUNT_SECONDS
    told: list[ChangedFile] = []
    for change in look.changes[:CHANGES_TOLD]:
        quick = flag.is_set() or time.monotonic() > until
        added, removed = (0, 0) if quick else counted(checkpoints, change)
        told.append(ChangedFile(visible(change.path), change.kind.value, added, removed))
    return look, tuple(told)


def counted(checkpoints: Checkpoints, change: Changed) -> tuple[int, int]:
    """Lines added and removed, 0 and 0 where they cannot be told."""
    from pool.sessions.checkpoints.contents import Damaged
    from pool.sessions.checkpoints.textdiff import line_counts

    try:
        before = checkpoints.bytes_of(change.before) if change.before else b""
        after = checkpoints.bytes_of(change.after) if change.after else b""
    except Damaged:
        return 0, 0
    return line_counts(before, after)


def joined(told: Sequence[ChangedFile], found: Sequence[ChangedFile]) -> tuple[ChangedFile, ...]:
    """What a tool says that it changed, and what was found besides."""
    paths = {change.path for change in told}
    return (*told, *(change for change in found if change.path not in paths))
