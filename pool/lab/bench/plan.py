"""What is measured, in cells, and what that costs: said before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pool.lab.bench.corpus import Kind
from pool_tools.frozen import frozen

SEED_TOKENS = 256
SEED_RUNS = 3
SEED_STREAMS = 8
"""The seed's protocol: 256 tokens, the median of three single streams, and eight at once."""

STREAMS = (1, 2, 4, 8, 16)
DEPTHS = (0, 4_096, 16_384)
RUNS = 3
REREAD_TOKENS = 16
"""Tokens written after a cold prompt: enough to know its time, and the cached one is measured by its decoding."""

WARM_TOKENS = 16
SHORT_PROMPT_TOKENS = 400
SLOW_WRITE_RATE, SLOW_READ_RATE = 20.0, 2_000.0
FAST_WRITE_RATE, FAST_READ_RATE = 100.0, 10_000.0
"""Tokens a second of a slow and a fast server, for the price said beforehand."""


class Part(StrEnum):
    """What a cell looks at: one stream at a time, several at once, or a long prompt read cold and then cached."""

    SINGLE = "single"
    STREAMS = "streams"
    DEPTH = "depth"


@frozen
class Cell:
    """One thing to measure: tokens at most of each reply, fixed: exactly so many. runs: how often it is repeated."""

    part: Part
    kind: Kind
    tokens: int
    streams: int = 1
    depth: int = 0
    fixed: bool = False
    runs: int = 1

    @property
    def name(self) -> str:
        """Short, and the same in every run: saved runs are compared by it."""
        match self.part:
            case Part.SINGLE:
                return self.kind.value
            case Part.STREAMS:
                return f"{self.kind.value} x{self.streams}"
            case Part.DEPTH:
                return f"{self.kind.value} @{self.depth}"


@frozen
class Price:
    """Tokens that a plan reads and writes at most; in_line: written one after another, streams side by side."""

    read: int
    written: int
    in_line: int

    def seconds(self, write_rate: float, read_rate: float) -> float:
        """How long that takes at these speeds of one stream, at most."""
        return self.in_line / write_rate + self.read / read_rate


def seed_plan(runs: int = SEED_RUNS) -> tuple[Cell, ...]:
    """The seed's protocol, exactly."""
    single = Cell(Part.SINGLE, Kind.SEED, SEED_TOKENS, fixed=True, runs=runs)
    return single, Cell(Part.STREAMS, Kind.SEED, SEED_TOKENS, streams=SEED_STREAMS, fixed=True)


def full_plan(
    kinds: Sequence[Kind], streams: Sequence[int], depths: Sequence[int], *, tokens: int, runs: int
) -> tuple[Cell, ...]:
    """Single streams by kind, then several at once of the first kind, then long prompts of it."""
    singles = [Cell(Part.SINGLE, kind, tokens, runs=runs) for kind in kinds]
    many = [Cell(Part.STREAMS, kinds[0], tokens, streams=number) for number in streams]
    deep = [Cell(Part.DEPTH, kinds[0], tokens, depth=depth) for depth in depths]
    return (*singles, *many, *deep)


def price(cells: Sequence[Cell]) -> Price:
    """What cells cost at most, the warm-up included."""
    read, written, in_line = SHORT_PROMPT_TOKENS, WARM_TOKENS, WARM_TOKENS
    for cell in cells:
        each = cell.tokens + (REREAD_TOKENS if cell.part is Part.DEPTH else 0)
        read += cell.runs * cell.streams * (SHORT_PROMPT_TOKENS + cell.depth)
        written += cell.runs * cell.streams * each
        in_line += cell.runs * each
    return Price(read, written, in_line)


def price_words(cost: Price, replies: int) -> str:
    """`31 replies: at most about 18,000 tokens read and 9,000 written; 1 to 6 minutes`."""
    fast, slow = cost.seconds(FAST_WRITE_RATE, FAST_READ_RATE), cost.seconds(SLOW_WRITE_RATE, SLOW_READ_RATE)
    return (
        f"{replies} replies: at most about {cost.read:,} tokens read and {cost.written:,} written; "
        f"{span(slow)} on a server that writes {SLOW_WRITE_RATE:g} tokens a second, "
        f"{span(fast)} on one that writes {FAST_WRITE_RATE:g}"
    )


def replies(cells: Sequence[Cell]) -> int:
    """How many requests cells make."""
    return sum(cell.runs * cell.streams * (2 if cell.part is Part.DEPTH else 1) for cell in cells)


def span(seconds: float) -> str:
    """`40 s`, `6 min`, `1.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"
