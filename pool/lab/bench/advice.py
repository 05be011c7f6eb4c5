"""Which draft depth K to take, from what this run saw: measured and predicted figures side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pool.lab.bench.counters import Speculation
from pool.lab.bench.figures import Figures, pooled
from pool.lab.bench.kmodel import UNALIGNED_LOSS, Depth, StepTimes, best_two, depths
from pool.lab.bench.measure import Run
from pool.lab.bench.plan import Part
from pool_tools.frozen import frozen

LEAST_DRAFTS = 50
"""Steps below which an acceptance curve is a matter of chance."""


@frozen
class Advice:
    """What depths give, and the two to measure, the likelier first. words: what that rests on."""

    streams: int
    speculation: Speculation
    depths: tuple[Depth, ...]
    best: tuple[int, ...]
    words: str


def advise(
    runs: Sequence[Run], found: Sequence[Figures], target: int, step_times: Mapping[int, float], streams: int = 1
) -> Advice | None:
    """Advice from a target's single streams, or from so many at a time; None without counted drafts.

    step_times: known seconds of a step by K (0: none).
    """
    part = Part.SINGLE if streams == 1 else Part.STREAMS
    chosen = [r for r in runs if r.target == target and r.cell.part is part and r.cell.streams == streams]
    drafted = pooled(run for run in chosen if not run.foreign)
    if drafted is None or not drafted.curve or drafted.depth < 1:
        return None
    step = _step([f for f in found if f.target == target and f.cell.part is part and f.cell.streams == streams])
    if step is None:
        return None
    curve = tuple(min(1.0, share) for share in drafted.curve[: drafted.depth])
    measured = {k + 1: seconds for k, seconds in step_times.items()} | {drafted.depth + 1: step}
    rows = depths(curve, StepTimes(measured, streams), looked_at=(*range(1, 4), 5, 7, 11, 15))
    best = tuple(d.depth for d in best_two(rows))
    return Advice(streams, drafted, tuple(rows), best, _words(drafted, 1 in measured))


def _step(found: Sequence[Figures]) -> float | None:
    """Seconds of a step over all cells: by tokens, so that long replies count for more."""
    own = [f for f in found if f.step and f.by_counter]
    weight = sum(f.written for f in own)
    return sum((f.step or 0.0) * f.written for f in own) / weight if weight else None


def _words(drafted: Speculation, based: bool) -> str:
    words = f"Measured at K = {drafted.depth} only; the other depths are predicted from its acceptance by place. "
    words += (
        "Step times between are scaled from a DGX Spark's"
        if based
        else (
            "Their step times are those of a DGX Spark, scaled to this one; the time without drafts is not "
            "measured either, so break-even is predicted too (--step-time 0=MS gives it)"
        )
    )
    words += (
        f". Depths marked ~ are padded to the next captured size; such came out {UNALIGNED_LOSS:.0%} or more lower."
    )
    if drafted.drafts < LEAST_DRAFTS:
        words += f" Only {drafted.drafts} steps were seen: measure longer before you decide."
    return words
