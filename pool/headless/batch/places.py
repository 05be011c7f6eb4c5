"""The servers of a batch, and how many tasks each has room for: it keeps within what their metrics say.

They are looked at once a second. A task more is given to a server only when no request waited there at the last looks.
When requests waited at most of them, or were thrown out of a full cache (preemptions), the server gets one task less
than it had, and room for one more only after a while. Tasks that work are left alone. A server that tells no such
figures gets as many tasks as the batch may work at a time. One task at a time a server always gets: it may be full with
the work of others, and then that task queues as theirs do.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pool.wire.dialects import DIALECTS
from pool.wire.endpoint import parse_endpoint
from pool.wire.metrics import ServerLoad, fetch_load_of_any
from pool.wire.transport import Transport

LOOK_SECONDS = 1.0
"""A task that was begun shows in the metrics after about so long; until then no other is begun there."""

LOOK_LIMIT_SECONDS = 2.0
LOOKS_KEPT = 5
CALM_LOOKS = 3
"""At so many looks in a row no request may have waited before one more task is begun: one look may fall into a gap."""

QUEUED_LOOKS = 3
"""At so many of the looks kept a request waited: the server has more than it can work."""

GROW_SECONDS = 20.0
"""A server that had too much gets room for one more task only after so long without."""


@dataclass(slots=True)
class Place:
    """One server. most is how many tasks may work there, running how many do. tells: it has metrics."""

    url: str
    most: int
    running: int = 0
    load: ServerLoad | None = None
    why_not: str = ""
    clock: Callable[[], float] = time.monotonic
    _room: int = field(init=False)
    _looked: float = field(init=False, default=float("-inf"))
    _pressed: float = field(init=False, default=float("-inf"))
    _begun: float = field(init=False, default=float("-inf"))
    _preemptions: int | None = None
    _queued: deque[bool] = field(init=False, default_factory=lambda: deque[bool](maxlen=LOOKS_KEPT))

    def __post_init__(self) -> None:
        self._room = self.most

    async def has_room(self) -> bool:
        """Whether a task may be begun there now; why_not says what is in the way."""
        if self.running >= self.most:
            self.why_not = "all its tasks work"
            return False
        if self.running == 0:
            self.why_not = ""
            return True
        await self.look()
        self.why_not = self._in_the_way()
        return not self.why_not

    def begin(self) -> None:
        """A task begins there."""
        self.running += 1
        self._begun = self.clock()

    def end(self) -> None:
        """A task has ended there."""
        self.running -= 1

    def _in_the_way(self) -> str:
        if self.load is None:
            return ""
        if self.running >= self._room:
            return "it has more than it can work"
        if any(list(self._queued)[-CALM_LOOKS:]):
            return "requests wait there"
        if self.clock() - self._begun < LOOK_SECONDS:
            return "the last task has only just begun"
        return ""

    async def look(self) -> None:
        """Look at what the server says of itself, if the last look was a while ago and tasks of ours work there."""
        now = self.clock()
        if not self.url or not self.running or now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        async with Transport(parse_endpoint(self.url)) as transport:
            load = await fetch_load_of_any(transport, DIALECTS.values(), LOOK_LIMIT_SECONDS)
        self.take(load)

    def take(self, load: ServerLoad | None) -> None:
        """Take what the server says of itself."""
        now, self.load = self.clock(), load
        if load is None:
            return
        before, self._preemptions = self._preemptions, load.preemptions
        self._queued.append(load.waiting > 0)
        if before is not None and load.preemptions > before:
            self._shrink(1)
        elif self._queued.count(True) >= QUEUED_LOOKS:
            # What it works at a time is what it has places for: with fewer tasks some of them would stand empty.
            self._shrink(load.running)
        elif self._room < self.most and now - self._pressed >= GROW_SECONDS:
            self._room, self._pressed = self._room + 1, now

    def _shrink(self, least: int) -> None:
        self._room = max(1, min(self.running, max(least, min(self.running, self._room) - 1)))
        self._pressed = self.clock()
        self._queued.clear()
        self._queued.append(True)


async def free_place(places: list[Place], wanted: str) -> Place | None:
    """The place with room that works least, or the one with the wanted address; None while there is none."""
    fitting = [place for place in places if not wanted or place.url == wanted]
    for place in sorted(fitting, key=lambda place: place.running):
        if await place.has_room():
            return place
    return None
