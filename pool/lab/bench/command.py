"""The command line of `pool bench`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from pool.agent.configured import settings_for
from pool.config.load import flag_values
from pool.config.settings import Settings, SettingsError
from pool.events import STOP_TABLE, StopReason
from pool.lab.bench.advice import advise
from pool.lab.bench.corpus import WRITTEN, Kind, Prompt, replayed
from pool.lab.bench.figures import figures
from pool.lab.bench.flags import parser, step_times
from pool.lab.bench.measure import order, work
from pool.lab.bench.plan import Cell, full_plan, price, price_words, replies, seed_plan
from pool.lab.bench.result import Measurement, NoResult
from pool.lab.bench.table import lines
from pool.lab.bench.target import Target
from pool.sessions.store import NoSuchSession, by_id, sessions_folder
from pool.wire.endpoint import EndpointError
from pool.wire.errors import ServerProblem
from pool.wire.probe import USUAL_PORTS, discover

EXIT_USAGE = 2
EXIT_AWAY = STOP_TABLE[StopReason.SERVER_FAILED].exit
EXIT_INTERRUPTED = STOP_TABLE[StopReason.INTERRUPTED].exit


def main(argv: Sequence[str]) -> int:
    """Run `pool bench`; returns the exit code."""
    if argv and argv[0] == "compare":
        from pool.lab.bench.compare import main as compare

        return compare(argv[1:])
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    args.protocol = args.protocol or ("seed" if args.sweep or args.sweep_k else "full")
    try:
        check_places(args)
        if args.sweep or args.sweep_k:
            from pool.lab.bench.sweeping import sweep

            return sweep(args)
        return asyncio.run(_bench(args))
    except (SettingsError, EndpointError, NoSuchSession, NoResult, ValueError) as error:
        sys.stderr.write(f"pool bench: {error}\n")
        return EXIT_USAGE
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stderr.write(f"pool bench: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}\n")
        return EXIT_USAGE
    except ServerProblem as problem:
        sys.stderr.write(f"pool bench: {problem}{f'; {problem.remedy}' if problem.remedy else ''}\n")
        return EXIT_AWAY
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


async def _bench(args: argparse.Namespace) -> int:
    """Measure the servers that args name, and show what was found."""
    cells = plan_of(args)
    replays = replays_of(args)
    given = await _settings(args)
    async with AsyncExitStack() as stack:
        targets = [await stack.enter_async_context(target_of(args, settings)) for settings in given]
        found = Measurement(args.protocol, tuple(t.label for t in targets), cells=cells)
        say = sys.stderr if args.json else sys.stdout
        cost = price(cells)
        for target in targets:
            await target.meet()
            print(f"pool bench: {target.transport.endpoint.display}", file=say)
        print(price_words(cost, replies(cells) * len(targets)), file=say, flush=True)
        if args.dry_run:
            return 0
        code = await measure_into(found, targets, replays, step_times(args.step_time))
    show(found, args)
    return code


async def measure_into(
    found: Measurement, targets: Sequence[Target], replays: Sequence[Prompt], known_steps: dict[int, float]
) -> int:
    """Work the plan; what was measured until a failure or Ctrl-C is kept. Returns the exit code."""
    code = 0
    found.servers = tuple([await target.fingerprint() for target in targets])
    steps = order(found.cells, len(targets))
    try:
        async with aclosing(work(targets, found.cells, replays, found.left_out)) as runs:
            async for run in runs:
                found.runs.append(run)
                _progress(len(found.runs), len(steps), run.cell.name)
    except ServerProblem as problem:
        found.trouble = f"Stopped after {len(found.runs)} of {len(steps)} runs: {problem}."
        code = EXIT_AWAY
    except asyncio.CancelledError:
        found.trouble = f"Interrupted after {len(found.runs)} of {len(steps)} runs."
        code = EXIT_INTERRUPTED
    _progress(0, 0, "")
    found.figures = figures(found.runs, len(targets))
    for at in range(len(targets)):
        advice = advise(found.runs, found.figures, at, known_steps)
        if advice is not None:
            found.advice[at] = advice
        most = max((cell.streams for cell in found.cells), default=1)
        many = advise(found.runs, found.figures, at, {}, most) if most > 1 else None
        if many is not None:
            found.together[at] = many
    return code


def plan_of(args: argparse.Namespace) -> tuple[Cell, ...]:
    """The cells that args ask for. Raises ValueError for a replay without sessions."""
    if args.protocol == "seed":
        return seed_plan()
    kinds = [Kind(name) for name in args.kinds] or [*WRITTEN, *([Kind.REPLAY] if args.replay else [])]
    if Kind.REPLAY in kinds and not args.replay:
        raise ValueError("--kinds replay needs --replay SESSION: which session's prompts?")
    return full_plan(kinds, args.streams, args.depths, tokens=args.tokens, runs=args.runs)


def replays_of(args: argparse.Namespace) -> tuple[Prompt, ...]:
    """The prompts of the sessions that --replay names. Raises `NoSuchSession`, OSError, or ValueError for none."""
    paths = [Path(name) if os.sep in name else by_id(sessions_folder(), name).path for name in args.replay]
    prompts = replayed(paths)
    if paths and not prompts:
        raise ValueError("these sessions hold no prompt that could be sent again")
    return prompts


async def _settings(args: argparse.Namespace) -> list[Settings]:
    """The settings of each target: the one of flags and files, then those of --against. Raises `SettingsError`."""
    flags = flag_values({"server.base_url": args.base_url, "server.model": args.model})
    loaded = settings_for(Path.cwd(), os.environ, flags, args.profile)
    for warning in loaded.warnings:
        sys.stderr.write(f"pool bench: {warning}\n")
    first = loaded.settings
    if not first.base_url:
        near = await discover()
        first = replace(first, base_url=near[0].base_url if near else f"http://127.0.0.1:{USUAL_PORTS[0]}")
    others = [replace(first, base_url=url, model=args.against_model) for url in args.against]
    return [first, *others]


def target_of(args: argparse.Namespace, settings: Settings) -> Target:
    """A target with what the flags say about requests."""
    return Target(
        settings,
        label=settings.base_url,
        limit_seconds=args.timeout,
        thinking=args.thinking == "on",
        temperature=0.0 if args.protocol == "seed" and args.temperature is None else args.temperature,
    )


def show(found: Measurement, args: argparse.Namespace) -> None:
    """Write the figures to stdout, and into the files that flags name."""
    document = found.document()
    text = json.dumps(document, ensure_ascii=False, indent=1)
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    for line in [text] if args.json else lines(found, unicode=not plain):
        print(line.encode("ascii", "backslashreplace").decode() if plain else line, flush=True)
    # After what is shown: a file that cannot be written must not cost the figures.
    write_files(args, text, document)


def check_places(args: argparse.Namespace) -> None:
    """Raises ValueError for a file or folder that cannot be written: better now than after 40 minutes."""
    for flag, name in (("--save", args.save), ("--html", args.html)):
        path = Path(name or ".")
        place = path if path.exists() else path.parent
        if name and (path.is_dir() or not place.exists() or not os.access(place, os.W_OK)):
            raise ValueError(f"{flag} {name} cannot be written: name a file in a folder that exists and is yours")
    for flag, name in (("--svg", args.svg), ("--log", args.log)):
        if name:
            try:
                Path(name).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ValueError(f"{flag} {name} cannot be made: {error.strerror}; name another folder") from None


def write_files(args: argparse.Namespace, text: str, document: dict[str, Any]) -> None:
    """Write the files that flags name. Raises OSError with the file's name."""
    from pool.lab.bench.page import write_html, write_svgs

    writers: tuple[tuple[str | None, Callable[[Path], object]], ...] = (
        (args.save, lambda path: path.write_text(text + "\n", encoding="utf-8")),
        (args.html, lambda path: write_html(path, document)),
        (args.svg, lambda path: write_svgs(path, document)),
    )
    for name, write in writers:
        if name:
            try:
                write(Path(name))
            except OSError as error:
                # A full disk is told without a name.
                error.filename = error.filename or name
                raise


def _progress(done: int, steps: int, name: str) -> None:
    """One line that is rewritten; only on a terminal."""
    if sys.stderr.isatty():
        words = f"{done} of {steps}: {name}" if steps else ""
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()
