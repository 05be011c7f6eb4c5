"""Figures over runs with their 95 % intervals: shares by Wilson, means by the bootstrap, differences in pairs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence

from pool.lab.eval.row import Row
from pool_tools.frozen import frozen

Z_95 = 1.959964
"""Of the standard normal distribution, for 95 %."""

RESAMPLES = 2_000
SEED = 20_261_201
"""The same rows give the same intervals."""


@frozen
class Figure:
    """A value with its interval, of n runs. value is None where there is none."""

    value: float | None
    low: float = 0.0
    high: float = 0.0
    n: int = 0


NO_FIGURE = Figure(None)


def share(hits: int, n: int) -> Figure:
    """A share with Wilson's interval, which holds for few runs too."""
    if n == 0:
        return NO_FIGURE
    p, z = hits / n, Z_95
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Figure(p, max(0.0, middle - half), min(1.0, middle + half), n)


def mean(values: Sequence[float]) -> Figure:
    """A mean with a percentile interval by resampling; of one value the interval is the value."""
    if not values:
        return NO_FIGURE
    chance = random.Random(SEED)
    drawn = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    low, high = drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES) - 1]
    return Figure(sum(values) / len(values), low, high, len(values))


@frozen
class Summary:
    """An arm's figures. Shares are 0 to 1; tokens, seconds and counts are for each run; guards and flags in all runs.

    reasoning_per_solved is None where nothing was solved. errors counts runs without a result.
    """

    arm: str
    builds: tuple[str, ...]
    solved: Figure
    passed: Figure
    held_out: Figure
    turns: Figure
    calls: Figure
    prompt_tokens: Figure
    completion_tokens: Figure
    reasoning_share: float | None
    reasoning_per_solved: float | None
    seconds: Figure
    rate: float | None
    guards: int
    flagged: int
    errors: int
    runs: int


def summaries(rows: Iterable[Row]) -> list[Summary]:
    """One for each arm, in the order in which they come."""
    by_arm: dict[str, list[Row]] = {}
    for row in rows:
        by_arm.setdefault(row.arm_name, []).append(row)
    return [summary(name, own) for name, own in by_arm.items()]


def summary(name: str, rows: Sequence[Row]) -> Summary:
    """The figures of these runs."""
    good = [row for row in rows if not row.error]
    solved = [row for row in good if row.solved]
    written, thought = sum(r.completion_tokens for r in good), sum(r.reasoning_tokens for r in good)
    decoding = sum(r.decode_seconds for r in good)

    def over(value: Callable[[Row], float]) -> Figure:
        return mean([value(row) for row in good])

    return Summary(
        name,
        tuple(sorted({row.build for row in rows if row.build})),
        share(len(solved), sum(row.reward is not None for row in good)),
        _share_of(row.passed for row in good),
        _share_of(row.held_out for row in good),
        over(lambda row: row.turns),
        over(lambda row: row.calls),
        over(lambda row: row.prompt_tokens),
        over(lambda row: row.completion_tokens),
        thought / written if written else None,
        thought / len(solved) if solved else None,
        over(lambda row: row.seconds),
        written / decoding if decoding else None,
        sum(len(row.guards) for row in good),
        sum(row.audit not in ("", "clean") for row in good),
        len(rows) - len(good),
        len(rows),
    )


def difference(rows: Iterable[Row], one: str, other: str) -> Figure:
    """How much more of the runs the arm one solved than the other, over the same tasks and numbers, in pairs."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if row.solved is not None and not row.error:
            found.setdefault((row.task, row.number), {})[row.arm_name] = float(row.solved)
    pairs = [arms[one] - arms[other] for arms in found.values() if one in arms and other in arms]
    return mean(pairs)


def _share_of(values: Iterable[float | None]) -> Figure:
    known = [value for value in values if value is not None]
    return share(sum(value >= 1.0 for value in known), len(known))
