"""Working a batch: as many attempts at a time as it may, where there is room, until each task has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from pool.headless.batch.engine import LOST_CODE, Engine, Lost, Watch
from pool.headless.batch.ledger import Attempt, Ended, Ledger
from pool.headless.batch.places import Place, free_place
from pool.headless.batch.tasks import BatchError, Task
from pool.headless.batch.workspaces import Workspaces
from pool.stops import STOP_TABLE, StopReason
from pool_tools.frozen import frozen

PACE_SECONDS = 0.5
"""How often it is looked whether a server has room again."""

MOST_ATTEMPTS = 3
"""How often a task is begun within one batch where whoever worked it was lost."""

AGAIN = frozenset({StopReason.SERVER_FAILED, StopReason.INTERRUPTED, StopReason.SIGNALLED, StopReason.INTERNAL_ERROR})
"""A task that ended so is worked again by `--resume`: it had no fair try."""


class Shown(Protocol):
    """What shows a batch: what begins, what happens in it, and how it ends."""

    def begin(self, attempt: Attempt) -> None: ...

    def watch(self, attempt: Attempt) -> Watch: ...

    def end(self, attempt: Attempt, ended: Ended) -> None: ...

    def wait(self, why: str) -> None: ...


@frozen
class Conduct:
    """All that a batch is worked with. jobs is how many attempts may work at a time."""

    ledger: Ledger
    engine: Engine
    places: list[Place]
    workspaces: Workspaces
    shown: Shown
    jobs: int

    async def work(self, tasks: Sequence[Task], leaving: asyncio.Event) -> None:
        """Work tasks until none is left, or leaving is set: then what works is ended in order, and noted."""
        todo = list(tasks)
        at_work: set[asyncio.Task[None]] = set()
        left = asyncio.create_task(leaving.wait())
        try:
            while (todo or at_work) and not leaving.is_set():
                while len(at_work) < self.jobs and (found := await self._next(todo)):
                    task, place = found
                    todo.remove(task)
                    place.begin()
                    at_work.add(asyncio.create_task(self._task(task, place)))
                if todo and len(at_work) < self.jobs:
                    self.shown.wait(next((p.why_not for p in self.places if p.why_not), ""))
                pause = PACE_SECONDS if todo else None
                await asyncio.gather(*(place.look() for place in self.places if todo))
                done, _ = await asyncio.wait({*at_work, left}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                at_work -= done
                for each in done - {left}:
                    each.result()
        finally:
            left.cancel()
            for each in at_work:
                each.cancel()
            await asyncio.gather(*at_work, return_exceptions=True)
            await self.engine.close()

    async def _next(self, todo: Sequence[Task]) -> tuple[Task, Place] | None:
        """The first task that a server has room for, and the server."""
        firsts: dict[str, Task] = {}
        for task in todo:
            firsts.setdefault(task.server, task)
        for task in firsts.values():
            if (place := await free_place(self.places, task.server)) is not None:
                return task, place
        return None

    async def _task(self, task: Task, place: Place) -> None:
        """Work a task: once, and again where whoever worked it was lost."""
        try:
            for tries in range(1, MOST_ATTEMPTS + 1):
                attempt, lost = await self._attempt(task, place)
                if not lost or tries == MOST_ATTEMPTS:
                    if lost and attempt is not None:
                        self._end(attempt, Ended(LOST_CODE, StopReason.INTERNAL_ERROR.value, lost, 0.0))
                    return
        finally:
            place.end()

    async def _attempt(self, task: Task, place: Place) -> tuple[Attempt | None, str]:
        """One attempt; the attempt, and who was lost if somebody was."""
        number = self.ledger.next_attempt(task)
        try:
            workspace, branch = await self.workspaces.make(task)
        except BatchError as error:
            attempt = Attempt(task, number, task.dir, "", place.url)
            usage = StopReason.USAGE_ERROR
            self._end(attempt, Ended(STOP_TABLE[usage].exit, usage.value, str(error), 0.0))
            return attempt, ""
        attempt = Attempt(task, number, workspace, branch, place.url)
        self.ledger.begin(attempt)
        self.shown.begin(attempt)
        try:
            ended = await self.engine.work(attempt, self.shown.watch(attempt))
        except Lost as lost:
            return attempt, str(lost)
        except asyncio.CancelledError:
            reason = StopReason.INTERRUPTED
            self._end(attempt, Ended(STOP_TABLE[reason].exit, reason.value, "the batch was stopped", 0.0))
            raise
        self._end(attempt, ended)
        return attempt, ""

    def _end(self, attempt: Attempt, ended: Ended) -> None:
        self.ledger.end(attempt, ended)
        self.shown.end(attempt, ended)


def left_to_do(tasks: Sequence[Task], ledger: Ledger, *, failed_too: bool) -> list[Task]:
    """The tasks that have not ended, or had no fair try; failed_too: all that were not done."""
    again = {reason.value for reason in AGAIN}

    def open_(task: Task) -> bool:
        row = ledger.ended.get(task.id)
        return row is None or row.get("reason") in again or (failed_too and bool(row.get("exit_code")))

    return [task for task in tasks if open_(task)]
