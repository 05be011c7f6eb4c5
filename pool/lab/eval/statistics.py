"""Figures over runs with their 95 % intervals: shares by Wilson, means by Student, differences of shares by Newcombe.

Few runs give wide intervals here, and one run none of a mean: resampling would show intervals that are too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from pool.lab.eval.row import Row
from pool_tools.frozen import frozen

Z_95 = 1.959964
"""Of the standard normal distribution, for 95 %."""

T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Of Student's distribution with 1, 2, 3 ... degrees of freedom."""

T_SLOPE = 2.4
"""With more degrees of freedom, `Z_95 + T_SLOPE / df` is right within 0.01."""

SURE = 0.05
"""A difference that chance brings about less often than this is told as one."""


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


def mean(values: Sequence[float], least: float = 0.0) -> Figure:
    """A mean with Student's interval, which goes no lower than least. Of one value there is no interval."""
    n = len(values)
    if n == 0:
        return NO_FIGURE
    middle = sum(values) / n
    if n == 1:
        return Figure(middle, middle, middle, 1)
    spread = math.sqrt(sum((value - middle) ** 2 for value in values) / (n - 1) / n)
    half = spread * (T_95[n - 2] if n - 2 < len(T_95) else Z_95 + T_SLOPE / (n - 1))
    return Figure(middle, max(least, middle - half), middle + half, n)


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


@frozen
class Difference:
    """How much more one arm solved than another, over the same tasks and numbers. chance is the exact sign test's."""

    figure: Figure
    chance: float

    @property
    def sure(self) -> bool:
        """Whether it is more than chance."""
        return self.chance < SURE


def difference(rows: Iterable[Row], one: str, other: str) -> Difference:
    """Two arms compared in pairs: interval by Newcombe's way from both shares, chance by the pairs that differ."""
    found: dict[tuple[str, int], dict[str, bool]] = {}
    for row in rows:
        if row.solved is not None and not row.error:
            found.setdefault((row.task, row.number), {})[row.arm_name] = row.solved
    pairs = [(arms[one], arms[other]) for arms in found.values() if one in arms and other in arms]
    n = len(pairs)
    if n == 0:
        return Difference(NO_FIGURE, 1.0)
    a, b = share(sum(first for first, _ in pairs), n), share(sum(second for _, second in pairs), n)
    p, q = a.value or 0.0, b.value or 0.0
    low = p - q - math.hypot(p - a.low, b.high - q)
    high = p - q + math.hypot(a.high - p, q - b.low)
    better = sum(first and not second for first, second in pairs)
    worse = sum(second and not first for first, second in pairs)
    return Difference(Figure(p - q, max(-1.0, low), min(1.0, high), n), sign_test(better, worse))


def sign_test(better: int, worse: int) -> float:
    """How often chance alone would part so many differing pairs at least as unevenly, from both sides."""
    n, fewer = better + worse, min(better, worse)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n) if n else 1.0


def _share_of(values: Iterable[float | None]) -> Figure:
    known = [value for value in values if value is not None]
    return share(sum(value >= 1.0 for value in known), len(known))
