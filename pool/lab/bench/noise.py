"""Is this machine quiet enough to tell? Two signs: this process is late for its own clock, and repeats disagree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from statistics import median

BEAT_SECONDS = 0.01
LATE_SHARE = 0.01
"""Lateness of this process, as a share of the shortest time measured, above which a figure may be wrong by so much."""

SPREAD_SHARE = 0.05
"""Repeats that differ by more than this share of their median say more of the noise than of the server."""


@dataclass(slots=True)
class Lateness:
    """How late this process was woken. worst in seconds; beats: how often it was looked at."""

    worst: float = 0.0
    beats: int = 0


@asynccontextmanager
async def watched() -> AsyncGenerator[Lateness]:
    """Watch how late the loop is while the block runs."""
    seen = Lateness()
    task = asyncio.create_task(_beat(seen))
    try:
        yield seen
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _beat(seen: Lateness) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + BEAT_SECONDS
        await asyncio.sleep(BEAT_SECONDS)
        seen.worst = max(seen.worst, clock() - due)
        seen.beats += 1


def spread(values: Sequence[float]) -> float:
    """Largest minus smallest, as a share of the median; 0 for fewer than two."""
    return (max(values) - min(values)) / median(values) if len(values) > 1 and median(values) else 0.0


def doubts(rates: Sequence[float], shortest_seconds: float, worst_late: float) -> list[str]:
    """Reasons, in words, why rates cannot be trusted to 1 %; none if they can, as far as this process can see."""
    words: list[str] = []
    apart = spread(rates)
    if apart > SPREAD_SHARE:
        words.append(f"repeats differ by {apart:.0%}, more than {SPREAD_SHARE:.0%}")
    if shortest_seconds > 0 and worst_late / shortest_seconds > LATE_SHARE:
        late, whole = worst_late * 1000, shortest_seconds * 1000
        words.append(f"this machine was late by up to {late:.0f} ms in times of {whole:.0f} ms")
    return words
