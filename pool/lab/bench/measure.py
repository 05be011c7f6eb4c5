"""Working a plan: warm up, then every cell in turn, its repeats spread over the whole time."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence

from pool.lab.bench.corpus import Kind, Prompt, corpus, deep
from pool.lab.bench.counters import Counters, Speculation, foreign_between, speculation_between
from pool.lab.bench.noise import watched
from pool.lab.bench.plan import REREAD_TOKENS, WARM_TOKENS, Cell, Part
from pool.lab.bench.target import Target
from pool.lab.bench.timeline import Sample
from pool.wire.errors import ProblemKind, ServerProblem
from pool_tools.frozen import frozen


@frozen
class Run:
    """A cell, once. samples: its replies (a DEPTH cell: cold, then cached). wall: seconds from first to last byte.

    speculation and foreign are what the server's counters say of that time, None if they say nothing. late: by how
    many seconds this process was woken too late at worst.
    """

    cell: Cell
    target: int
    samples: tuple[Sample, ...]
    wall: float
    speculation: Speculation | None
    foreign: int | None
    late: float


def order(cells: Sequence[Cell], targets: int) -> list[tuple[Cell, int, int]]:
    """Cell, its repeat's number and the target, as they are worked.

    All cells once before any is repeated, and the targets in turn with the first one changing: what drifts with time
    (heat, a neighbour's job) then hits all alike.
    """
    out: list[tuple[Cell, int, int]] = []
    for number in range(max((cell.runs for cell in cells), default=0)):
        for cell in cells:
            if number < cell.runs:
                turn = [(at + number) % targets for at in range(targets)]
                out += [(cell, number, target) for target in turn]
    return out


async def work(
    targets: Sequence[Target], cells: Sequence[Cell], replays: Sequence[Prompt], left_out: list[str]
) -> AsyncGenerator[Run]:
    """Measure; a run is given as soon as it is over. Raises `ServerProblem` when a request fails.

    A cell that does not fit the server's window is noted in left_out, in words.
    """
    prompts: Mapping[Kind, Sequence[Prompt]] = {**corpus(), Kind.REPLAY: replays}
    for target in targets:
        await target.ask(prompts[Kind.SEED][0], WARM_TOKENS)
    for cell, number, target in order(cells, len(targets)):
        try:
            run = await _run(targets[target], target, cell, number, prompts[cell.kind])
        except ServerProblem as problem:
            if problem.kind is not ProblemKind.OVERFLOW:
                raise
            window = targets[target].info.window
            size = f" of {window:,} tokens" if window else ""
            left_out.append(f"{cell.name} was left out: it does not fit the server's window{size}.")
            continue
        yield run


async def _run(target: Target, at: int, cell: Cell, number: int, prompts: Sequence[Prompt]) -> Run:
    before = await target.counters()
    async with watched() as late:
        samples = await _replies(target, cell, number, prompts)
    after = await target.counters()
    ends = [sample.began + (sample.last or 0.0) for sample in samples]
    wall = max(ends) - min(sample.began for sample in samples)
    kind = target.info.kind
    ours = sum(sample.written for sample in samples)
    foreign = foreign_between(before, after, kind, ours, len(samples))
    return Run(cell, at, samples, wall, _drafted(before, after, target), foreign, late.worst)


def _drafted(before: Counters | None, after: Counters | None, target: Target) -> Speculation | None:
    return speculation_between(before, after, target.info.kind)


async def _replies(target: Target, cell: Cell, number: int, prompts: Sequence[Prompt]) -> tuple[Sample, ...]:
    first = prompts[number % len(prompts)] if cell.kind is not Kind.SEED else prompts[0]
    match cell.part:
        case Part.SINGLE:
            return (await target.ask(first, cell.tokens, fixed=cell.fixed),)
        case Part.STREAMS:
            each = [prompts[at % len(prompts)] for at in range(cell.streams)]
            return await _at_once(target, cell, each)
        case Part.DEPTH:
            # A new beginning, so that no earlier run's prompt is in the cache.
            long = deep(first, cell.depth, secrets.token_hex(8))
            cold = await target.ask(long, REREAD_TOKENS)
            return cold, await target.ask(long, cell.tokens)


async def _at_once(target: Target, cell: Cell, each: Sequence[Prompt]) -> tuple[Sample, ...]:
    """Replies to all prompts at a time. The first that fails ends them all, with its `ServerProblem`."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(target.ask(prompt, cell.tokens, fixed=cell.fixed)) for prompt in each]
    except ExceptionGroup as problems:
        raise problems.exceptions[0] from None
    return tuple(task.result() for task in tasks)
