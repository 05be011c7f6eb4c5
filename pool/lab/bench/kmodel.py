"""How deep should speculation draft? Speed by depth K, from one run at the deepest one.

The model: a request writes E(K) tokens a step, E(K) = 1 + a_1 + ... + a_K, where a_i is the share of steps in which the
draft at place i was kept. A step for c requests works on c * (K + 1) tokens, padded up to a size for which the server
captured a graph, and takes T. So a request writes E(K) / T tokens a second. T is measured where there is a run;
elsewhere its shape is that of one DGX Spark (`SPARK_STEPS`), scaled through what was measured. A draft's acceptance may
change with K, and unaligned depths (padded ones) came out 11 and 19 % below this model in the one published sweep:
predictions are for choosing which two depths to measure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from pool_tools.frozen import frozen

SPARK_STEPS: Mapping[int, Mapping[int, float]] = {
    1: {1: 0.056, 4: 0.082, 6: 0.1028, 8: 0.1023, 12: 0.1218, 16: 0.1271},
    8: {1: 0.073, 8: 0.155},
    16: {1: 0.087, 4: 0.128, 8: 0.175, 16: 0.239},
    32: {1: 0.107, 4: 0.151, 8: 0.196, 16: 0.292},
}
"""Seconds of a step by streams and K + 1: Laguna S 2.1 NVFP4 on a DGX Spark with vLLM 0.25.1.

From the times between chunks that github.com/r0b0tlab/laguna-s-2.1-nvfp4-sm121-vllm published (one chunk is a step).
"""

LARGEST_CAPTURE = 512
"""vLLM captures no larger graphs unless it is told to."""

DEPTHS = (1, 2, 3, 5, 7, 11, 15)
"""Depths that are looked at, up to the one that was measured; it and the aligned ones come first."""

UNALIGNED_LOSS = 0.11
"""How much unaligned depths fell short of this model at least, as a share (K = 5; K = 11 by 0.19)."""

CLOSE_SHARE = 0.03
"""Depths whose speeds differ by less are as good as each other; the shallower one then costs others less."""


def padded(tokens: int) -> int:
    """The captured size that holds so many tokens by vLLM's grid (1, 2, 4, by 8 below 256, by 16); more: as it is."""
    if tokens > LARGEST_CAPTURE or tokens <= 0:
        return tokens
    for size in (1, 2, 4):
        if tokens <= size:
            return size
    step = 8 if tokens <= 256 else 16
    return -(-tokens // step) * step


def aligned(depth: int, streams: int = 1) -> bool:
    """Whether a step of streams at this depth is no smaller than the graph that runs it."""
    tokens = streams * (depth + 1)
    return padded(tokens) == tokens


def expected_tokens(curve: Sequence[float], depth: int) -> float:
    """E(K): tokens a step at a depth, the model's own one included."""
    return 1.0 + sum(curve[:depth])


def geometric(points: Mapping[int, float]) -> tuple[float, ...]:
    """A whole acceptance curve from some of its places (counted from 1), drawn geometrically between them."""
    places = sorted(points)
    curve: list[float] = []
    for place in range(places[0], places[-1] + 1):
        at = bisect_left(places, place)
        if places[at] == place:
            curve.append(points[place])
            continue
        low, high = places[at - 1], places[at]
        curve.append(points[low] * (points[high] / points[low]) ** ((place - low) / (high - low)))
    return tuple(curve)


@frozen
class StepTimes:
    """T in seconds by K + 1, for so many streams at a time. measured are our own; between them the shape is scaled.

    shape None: the Spark's for the nearest number of streams that is no larger.
    """

    measured: Mapping[int, float]
    streams: int = 1
    shape: Mapping[int, float] | None = None

    def at(self, each: int) -> float:
        """Seconds of a step with so many tokens of each stream."""
        if each in self.measured:
            return self.measured[each]
        return self._shape(each) * self._scale(each)

    def _shape(self, each: int) -> float:
        shape = self.shape or SPARK_STEPS[max(c for c in SPARK_STEPS if c <= max(1, self.streams))]
        if each in shape:
            return shape[each]
        return _between(shape, padded(self.streams * each) / self.streams)

    def _scale(self, each: int) -> float:
        ratios = {size: seconds / self._shape(size) for size, seconds in self.measured.items()}
        return _between(ratios, each) if ratios else 1.0


@frozen
class Depth:
    """What a depth gives: tokens a step, seconds a step, tokens a second, and its bounds.

    ceiling: tokens a second if every draft were kept. break_even: tokens a step from which on it beats no speculation.
    measured: rate and time are this run's, not the model's. aligned: K + 1 is a captured size.
    """

    depth: int
    tokens: float
    seconds: float
    rate: float
    ceiling: float
    break_even: float
    measured: bool
    aligned: bool


def depths(curve: Sequence[float], times: StepTimes, looked_at: Sequence[int] = ()) -> list[Depth]:
    """Every depth up to the curve's, none (K = 0) first. Rates are of one of the streams."""
    deepest = len(curve)
    wanted = sorted({0, deepest, *(k for k in looked_at or DEPTHS if 0 < k < deepest)})
    base = times.at(1)
    out: list[Depth] = []
    for k in wanted:
        seconds, tokens = times.at(k + 1), expected_tokens(curve, k)
        out.append(
            Depth(
                depth=k,
                tokens=tokens,
                seconds=seconds,
                rate=tokens / seconds,
                ceiling=(k + 1) / seconds,
                break_even=seconds / base,
                measured=k + 1 in times.measured,
                aligned=aligned(k, times.streams),
            )
        )
    return out


def best_two(found: Sequence[Depth]) -> tuple[Depth, ...]:
    """The depths to measure, the likelier first: the fastest aligned ones; of two that are close, the shallower."""
    good = [d for d in found if d.aligned] or list(found)
    ranked = sorted(good, key=lambda d: -d.rate)[:2]
    if len(ranked) == 2 and ranked[1].depth < ranked[0].depth and ranked[1].rate > ranked[0].rate * (1 - CLOSE_SHARE):
        ranked.reverse()
    return tuple(ranked)


def _between(points: Mapping[int, float], at: float) -> float:
    """A value by straight lines between points; beyond the ends, that of the end."""
    sizes = sorted(points)
    place = bisect_left(sizes, at)
    if place < len(sizes) and sizes[place] == at:
        return points[sizes[place]]
    if place == 0:
        return points[sizes[0]]
    if place == len(sizes):
        return points[sizes[-1]]
    low, high = sizes[place - 1], sizes[place]
    return points[low] + (points[high] - points[low]) * (at - low) / (high - low)
