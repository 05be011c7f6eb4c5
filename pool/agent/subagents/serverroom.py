"""How many subagents may work at the same time: what the server has room for, by its own word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from pool.wire.dialects import ServerKind
from pool.wire.errors import ServerProblem
from pool.wire.identify import ServerInfo
from pool.wire.metrics import METRICS_PATH, load_of, read_metrics
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

MOST_AT_ONCE = 4
"""Subagents at the same time on a server that has room for many."""

FULL_CACHE_SHARE = 0.7
"""From this share of its key-value cache on, one more conversation would push out others."""

LOOK_SECONDS = 1.0
"""How long the server may take to say how busy it is."""

CACHE_METRICS = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage")
"""Share of the cache that is used, 0 to 1, as vLLM (since 0.10, and before) and SGLang name it."""

_ROOMY = frozenset({ServerKind.OPENROUTER, ServerKind.POOLSIDE})
_BATCHING = frozenset({ServerKind.VLLM, ServerKind.SGLANG})


@frozen
class Room:
    """How many subagents may work now, and why. evicts: one of them takes the place of the session in the cache."""

    at_once: int
    why: str
    evicts: bool = False


async def room_of(transport: Transport, info: ServerInfo | None) -> Room:
    """What a server has room for now; asks it where it tells. Never raises."""
    kind = info.kind if info is not None else ServerKind.GENERIC
    slots = info.slots if info is not None else 0
    if kind in _ROOMY:
        return Room(MOST_AT_ONCE, "the server works for many at the same time")
    if slots == 1:
        return Room(1, "the server has a single slot", evicts=True)
    if slots and kind is ServerKind.LLAMACPP:
        # One slot holds the session's own cache.
        return Room(min(slots - 1, MOST_AT_ONCE), f"the server has {slots} slots")
    if kind not in _BATCHING:
        return Room(1, "the server does not say that it works on several requests at the same time", evicts=True)
    try:
        fetched = await transport.get(METRICS_PATH, LOOK_SECONDS)
    except ServerProblem:
        return Room(1, "the server does not say how busy it is")
    return room_in(read_metrics(fetched.body.decode("utf-8", "replace")), info, slots)


def room_in(values: dict[str, float], info: ServerInfo | None, slots: int = 0) -> Room:
    """The room that a batching server's metrics tell of."""
    load = load_of(values, info.dialect) if info is not None else None
    if load is None:
        return Room(1, "the server does not say how busy it is")
    if load.waiting:
        return Room(1, f"{load.waiting} requests wait at the server")
    used = next((values[name] for name in CACHE_METRICS if name in values), 0.0)
    if used >= FULL_CACHE_SHARE:
        return Room(1, f"{used:.0%} of the server's cache is used")
    most = min(slots, MOST_AT_ONCE) if slots else MOST_AT_ONCE
    return Room(most, f"the server works on {load.running} requests, and none waits")


class Places:
    """Lets as many work at the same time as there is room for; the others wait in order."""

    def __init__(self, look: Callable[[], Awaitable[Room]], fixed: int = 0) -> None:
        """look finds the room that there is now; fixed, if not 0, is the number that the user set."""
        self._look = look
        self._fixed = fixed
        self._working = 0
        self._changed = asyncio.Condition()
        self._looking = asyncio.Lock()

    @asynccontextmanager
    async def place(self, waits: Callable[[Room], object]) -> AsyncGenerator[Room]:
        """Wait for a place, and hold it. waits is told once, if there is none at first."""
        # One after the other looks, so that those who came first go first.
        async with self._looking:
            room = await self._room()
            if self._is_full(room):
                waits(room)
            while self._is_full(room):
                working = self._working
                async with self._changed:
                    await self._changed.wait_for(lambda: self._working < working)  # noqa: B023  # waited for here
                room = await self._room()
            self._working += 1
        try:
            yield room
        finally:
            self._working -= 1
            async with self._changed:
                self._changed.notify_all()

    def _is_full(self, room: Room) -> bool:
        return self._working >= max(1, room.at_once)

    async def _room(self) -> Room:
        if self._fixed:
            return Room(self._fixed, "subagents.parallel says so")
        return await self._look()
