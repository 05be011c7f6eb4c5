"""`pool bench --sweep-k` and `--sweep FLAG=...`: each value twice, from a fresh start of the server."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from pool.agent.configured import settings_for
from pool.config.load import flag_values
from pool.config.settings import Settings
from pool.lab.bench.advice import advise
from pool.lab.bench.command import EXIT_INTERRUPTED, plan_of, replays_of, target_of, write_files
from pool.lab.bench.figures import Figures, figures
from pool.lab.bench.flags import step_times
from pool.lab.bench.measure import Run, work
from pool.lab.bench.noise import spread
from pool.lab.bench.plan import Part, price, price_words, replies
from pool.lab.bench.result import Measurement
from pool.lab.bench.starting import DidNotStart, Start, started
from pool.lab.bench.table import wrapped
from pool.lab.bench.variants import K_FLAG, Sweep, command_words, parse_sweep
from pool.wire.errors import ServerProblem

EXIT_FAILED = 1
START_WORDS = "10 to 15 minutes for Laguna S 2.1 on a DGX Spark the first time"
"""What a start takes, by the seed and by others who measured that machine."""


@dataclass(slots=True)
class Swept:
    """What a sweep found. value and start of each target of the measurement; failed: what did not start, with why."""

    sweep: Sweep
    found: Measurement
    values: list[str] = field(default_factory=list[str])
    starts: list[Start] = field(default_factory=list[Start])
    failed: list[str] = field(default_factory=list[str])


def sweep(args: argparse.Namespace) -> int:
    """Run a sweep; returns the exit code: 1 if a value did not start or could not be measured."""
    chosen = Sweep(K_FLAG, tuple(map(str, args.sweep_k))) if args.sweep_k else parse_sweep(args.sweep)
    if not args.serve:
        raise ValueError("a sweep needs --serve COMMAND: what starts the server?")
    commands = {value: command_words(args.serve, chosen, value) for value in chosen.values}
    flags = flag_values({"server.base_url": args.base_url, "server.model": args.model})
    settings = settings_for(Path.cwd(), os.environ, flags, args.profile).settings
    if not settings.base_url:
        raise ValueError("a sweep needs --base-url URL: where does that server answer?")
    cells = plan_of(args)
    say = sys.stderr if args.json else sys.stdout
    for line in _price(chosen, args, price_words(price(cells), replies(cells))):
        print(line, file=say, flush=True)
    if args.dry_run:
        for value in chosen.values:
            print(f"{chosen.name(value)}: {' '.join(commands[value])}", file=say)
        return 0
    swept = Swept(chosen, Measurement(args.protocol, cells=cells))
    code = asyncio.run(_starts(swept, args, settings, commands))
    _finish(swept, args)
    return code or (EXIT_FAILED if swept.failed else 0)


def _price(chosen: Sweep, args: argparse.Namespace, each: str) -> Iterator[str]:
    number = len(chosen.values) * args.starts
    yield f"pool bench: {number} starts: {', '.join(map(chosen.name, chosen.values))}, each {args.starts} times"
    yield f"each start: the server's own time ({START_WORDS}), then"
    yield each


async def _starts(swept: Swept, args: argparse.Namespace, settings: Settings, commands: dict[str, list[str]]) -> int:
    """All values once, then all again: what drifts hits all alike. Returns the exit code."""
    folder = Path(args.log) if args.log else Path(tempfile.mkdtemp(prefix="pool-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for number in range(1, args.starts + 1):
            for at, value in enumerate(swept.sweep.values, 1):
                name = f"{swept.sweep.name(value)}, start {number}"
                sys.stderr.write(f"pool bench: {name}\n")
                log = folder / f"{at}-{number}.log"
                try:
                    async with started(commands[value], settings, log, args.start_timeout) as start:
                        await _measure(swept, args, settings, name)
                        swept.values.append(value)
                        swept.starts.append(start)
                except (DidNotStart, ServerProblem, OSError) as problem:
                    swept.failed.append(f"{name}: {problem}")
    except asyncio.CancelledError:
        swept.failed.append("interrupted")
        return EXIT_INTERRUPTED
    return 0


async def _measure(swept: Swept, args: argparse.Namespace, settings: Settings, name: str) -> None:
    """Work the plan against the server that has just started; its figures count only as a whole."""
    found, runs = swept.found, list[Run]()
    at = len(found.servers)
    async with target_of(args, settings) as target:
        await target.meet()
        async with aclosing(work([target], found.cells, replays_of(args), found.left_out)) as measured:
            async for run in measured:
                runs.append(replace(run, target=at))
        found.servers += (await target.fingerprint(),)
    found.labels += (name,)
    found.runs += runs


def _finish(swept: Swept, args: argparse.Namespace) -> None:
    found = swept.found
    targets = len(found.servers)
    found.figures = figures(found.runs, targets)
    found.trouble = " ".join(f"Not measured: {words}." for words in swept.failed)
    for at in range(targets):
        advice = advise(found.runs, found.figures, at, step_times(args.step_time) | _base(swept))
        if advice is not None and swept.sweep.flag == K_FLAG:
            found.advice[at] = advice
    document = found.document()
    document["sweep"] = {"flag": swept.sweep.flag, "values": list(swept.sweep.values)}
    for target, value, start in zip(document["targets"], swept.values, swept.starts, strict=True):
        target["value"] = value
        target["start"] = {
            "seconds": start.seconds,
            "memory_gib": start.memory_gib,
            "command": start.command,
            "log": dict(start.facts),
        }
    text = json.dumps(document, ensure_ascii=False, indent=1)
    for line in [text] if args.json else table(swept):
        print(line, flush=True)
    write_files(args, text, document)


def _base(swept: Swept) -> dict[int, float]:
    """The measured time of a step without drafts, if K = 0 was swept."""
    rates = [f.decode for f in _singles(swept) if swept.values[f.target] == "0" and f.decode]
    return {0: 1 / median(rates)} if rates and swept.sweep.flag == K_FLAG else {}


def _singles(swept: Swept) -> list[Figures]:
    return [f for f in swept.found.figures if f.cell.part is Part.SINGLE]


def table(swept: Swept) -> Iterator[str]:
    """A row for each value: medians over its starts, how far these are apart, and what the log said."""
    yield ""
    name = swept.sweep.flag
    yield f"{name:<16} {'decode':>8} {'starts':>8} {'together':>9} {'tokens/':>8} {'predicted':>9}  {'memory':>7}"
    yield f"{'':<16} {'tok/s':>8} {'apart':>8} {'tok/s':>9} {'step':>8} {'tok/s':>9}  {'GiB':>7}"
    for value in dict.fromkeys(swept.values):
        yield _row(swept, value)
    yield ""
    for value, start in dict(zip(swept.values, swept.starts, strict=True)).items():
        facts = ", ".join(f"{key.replace('_', ' ')} {told}" for key, told in start.facts.items())
        if facts:
            yield from wrapped(f"{swept.sweep.name(value)}: {facts}")
    if swept.found.trouble:
        yield from wrapped(f"! {swept.found.trouble}")


def _row(swept: Swept, value: str) -> str:
    own = [at for at, other in enumerate(swept.values) if other == value]
    rates = [_median([f.decode for f in _singles(swept) if f.target == at and f.decode]) for at in own]
    known = [rate for rate in rates if rate]
    many = [f.total for f in swept.found.figures if f.target in own and f.cell.part is Part.STREAMS and f.total]
    steps = [f.step_tokens for f in _singles(swept) if f.target in own and f.step_tokens]
    memory = _median([swept.starts[at].memory_gib or 0.0 for at in own])
    predicted = _predicted(swept, value)
    return (
        f"{value or '(left out)':<16.16} {_shown(_median(known)):>8} {f'{spread(known):.1%}':>8} "
        f"{_shown(many[-1] if len(many) == 1 else _median(many)):>9} {_shown(_median(steps), 2):>8} "
        f"{_shown(predicted):>9}  {_shown(memory):>7}"
    )


def _predicted(swept: Swept, value: str) -> float | None:
    """What the model says of a depth from the deepest one that was measured: to see how well it does here."""
    if swept.sweep.flag != K_FLAG or not swept.found.advice:
        return None
    advice = max(swept.found.advice.values(), key=lambda one: one.speculation.depth)
    row = next((d for d in advice.depths if d.depth == int(value)), None)
    return row.rate if row is not None and not row.measured else None


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


def _shown(value: float | None, digits: int = 1) -> str:
    return "-" if not value else f"{value:,.{digits}f}"
