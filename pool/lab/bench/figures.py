"""From runs to the figures of a cell, with the doubts that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from pool.lab.bench.corpus import Kind
from pool.lab.bench.counters import Speculation
from pool.lab.bench.measure import Run
from pool.lab.bench.noise import doubts, spread
from pool.lab.bench.plan import Cell, Part
from pool.lab.bench.timeline import QUANTILES, Sample
from pool_tools.frozen import frozen

END_STEPS = 2
"""Steps of a reply that are not between its first arrival and its last whole one."""


@frozen
class Figures:
    """A cell's figures: medians over its replies, in tokens, seconds and tokens a second; None: cannot be told.

    decode: of one reply, after its first token. total: all replies of a run together, from the first request to the
    last token. whole: as decode, but from sending on. spread: of decode over repeats, as a share. step and
    step_tokens: time of a decoding step and its tokens (by_counter: from the server's counters, else from running
    counts). cold and cached: prompt tokens a second and seconds to the first token of a DEPTH cell's two replies.
    """

    cell: Cell
    target: int
    replies: int
    written: int
    prompt: int
    first: float | None
    first_answer: float | None
    decode: float | None
    whole: float | None
    total: float | None
    spread: float
    step: float | None
    step_tokens: float | None
    by_counter: bool
    stalls: int
    gaps: tuple[float, ...]
    cold_first: float | None = None
    cold_read: float | None = None
    cached_first: float | None = None
    cached_tokens: int | None = None
    short: int = 0
    estimated: int = 0
    foreign: int | None = None
    doubts: tuple[str, ...] = ()


def figures(runs: Sequence[Run], targets: int) -> list[Figures]:
    """The figures of every cell and target, in the order in which they first came."""
    seen: dict[tuple[Cell, int], list[Run]] = {}
    for run in runs:
        seen.setdefault((run.cell, run.target), []).append(run)
    return [_of_cell(cell, target, own) for (cell, target), own in seen.items() if target < targets]


def pooled(runs: Iterable[Run]) -> Speculation | None:
    """The speculation of several runs together, None if none was counted."""
    found = [run.speculation for run in runs if run.speculation is not None]
    if not found:
        return None
    places = max(len(one.positions) for one in found)
    return Speculation(
        sum(one.drafts for one in found),
        sum(one.draft_tokens for one in found),
        sum(one.accepted for one in found),
        tuple(sum(one.positions[at] for one in found if at < len(one.positions)) for at in range(places)),
    )


def tokens_of_step(samples: Sequence[Sample], pieces: float | None, drafted: Speculation | None) -> float | None:
    """Tokens of a step: of the arrivals if none holds several steps, else as counted; None if neither is known.

    samples: all replies of the counted time. Counters include each reply's last step, which its end has cut, so
    arrivals are better where there are as many of them as steps.
    """
    if drafted is None:
        return pieces
    arrivals = sum(sample.pieces or 0 for sample in samples)
    whole = arrivals >= drafted.drafts - END_STEPS * len(samples)
    return pieces if pieces and whole else drafted.with_bonus


def _of_cell(cell: Cell, target: int, runs: Sequence[Run]) -> Figures:
    # A long prompt's speeds of writing are those of its second reply, the long one.
    deep = cell.part is Part.DEPTH
    samples = [sample for run in runs for sample in (run.samples[1:] if deep else run.samples)]
    rates = _known(sample.decode_rate for sample in samples)
    decode = _median(rates)
    drafted = pooled(runs) if all(not run.foreign for run in runs) else None
    pieces = _median(_known(sample.tokens_a_piece for sample in samples))
    step_tokens = tokens_of_step([sample for run in runs for sample in run.samples], pieces, drafted)
    repeats = _comparable(cell, samples)
    shortest = min(_known(sample.decode_seconds for sample in samples), default=0.0)
    cold = [run.samples[0] for run in runs] if deep else []
    foreign = [run.foreign for run in runs if run.foreign is not None]
    return Figures(
        cell=cell,
        target=target,
        replies=len(samples),
        written=sum(sample.written for sample in samples),
        prompt=round(median(sample.prompt for sample in samples)),
        first=_median(_known(sample.first for sample in samples)),
        first_answer=_median(_known(sample.first_answer for sample in samples)),
        decode=decode,
        whole=_median(_known(sample.whole_rate for sample in samples)),
        total=None if deep else _median(_known(_total(run) for run in runs)),
        spread=spread(rates) if cell.part is Part.SINGLE else 0.0,
        step=step_tokens / decode if step_tokens and decode else None,
        step_tokens=step_tokens,
        by_counter=drafted is not None,
        stalls=sum(sample.stalls for sample in samples),
        gaps=_gaps(samples),
        cold_first=_median(_known(sample.first for sample in cold)),
        cold_read=_median(_known(sample.read_rate for sample in cold)),
        cached_first=_median(_known(sample.first for sample in samples)) if deep else None,
        cached_tokens=next((sample.cached for sample in samples if sample.cached is not None), None) if deep else None,
        short=sum(cell.fixed and sample.written < cell.tokens for sample in samples),
        estimated=sum(not sample.exact for sample in samples),
        foreign=sum(foreign) if foreign else None,
        doubts=tuple(doubts(repeats, shortest, max(run.late for run in runs))),
    )


def _comparable(cell: Cell, samples: Sequence[Sample]) -> list[float]:
    """What should be the same in every repeat: speeds of one prompt; of several prompts, the usual gap."""
    if cell.part is not Part.SINGLE:
        return []
    if cell.kind is Kind.SEED:
        return _known(sample.decode_rate for sample in samples)
    return [sample.gaps[QUANTILES.index(0.5)] for sample in samples if sample.gaps]


def _total(run: Run) -> float | None:
    written = sum(sample.written for sample in run.samples)
    return written / run.wall if run.wall and written else None


def _gaps(samples: Sequence[Sample]) -> tuple[float, ...]:
    """Median over the replies of each quantile of their gaps."""
    known = [sample.gaps for sample in samples if sample.gaps]
    return tuple(median(gaps[at] for gaps in known) for at in range(len(QUANTILES))) if known else ()


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
