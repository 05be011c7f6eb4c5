"""The command line of `pool eval`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pool import __version__
from pool.agent.configured import settings_for
from pool.agent.server import find_server
from pool.config.load import flag_values
from pool.config.settings import SettingsError
from pool.jsonable import plain
from pool.lab.eval.flags import arms, parser
from pool.lab.eval.harnesses import HarnessProblem, harness_named, harnesses
from pool.lab.eval.page import page
from pool.lab.eval.plan import Arm, Cell, cells, least_seconds
from pool.lab.eval.row import Row
from pool.lab.eval.running import RESULTS, Running, read_rows
from pool.lab.eval.statistics import summaries
from pool.lab.eval.suites import chosen, shipped, suite_named
from pool.lab.eval.table import report
from pool.lab.eval.task import TaskProblem, Thinking
from pool.stops import STOP_TABLE, StopReason
from pool.wire.errors import ServerProblem
from pool_tools.home import base_folder, expanded
from pool_tools.text import plural, visible

EXIT_SOME, EXIT_USAGE = 1, 2
EXIT_AWAY = STOP_TABLE[StopReason.SERVER_FAILED].exit
EXIT_INTERRUPTED = STOP_TABLE[StopReason.INTERRUPTED].exit

PLAN, REPORT = "plan.json", "report.html"
SLOW_READ, SLOW_WRITE = 600.0, 25.0
"""Tokens a second of a DGX Spark, for the estimate where nothing is known of a server."""


def main(argv: Sequence[str]) -> int:
    """Run `pool eval`; returns the exit code."""
    try:
        return _main(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    except (TaskProblem, SettingsError, HarnessProblem, ValueError) as error:
        sys.stderr.write(f"pool eval: {visible(str(error))}\n")
        return EXIT_USAGE
    except ServerProblem as problem:
        sys.stderr.write(f"pool eval: {problem}{f'; {problem.remedy}' if problem.remedy else ''}\n")
        return EXIT_AWAY
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stderr.write(f"pool eval: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("pool eval: interrupted; what was made is kept\n")
        return EXIT_INTERRUPTED


def _main(argv: list[str]) -> int:
    match argv:
        case ["list"]:
            return _list()
        case ["harnesses"]:
            return _harnesses()
        case ["import", *rest]:
            from pool.lab.eval.importing.command import main as importing

            return importing(rest)
        case ["check", *rest]:
            return asyncio.run(_check([name for name in rest if name != "--unconfined"], "--unconfined" in rest))
        case ["report", folder]:
            return _show(Path(folder))
        case _:
            args = parser().parse_args(argv)
            if args.more:
                raise ValueError(f"one suite at a time; {' '.join(args.more)!r} is too much")
            return asyncio.run(_evaluate(args))


def _list() -> int:
    for suite in shipped():
        print(f"{suite.name:<12} {len(suite.tasks)} tasks: {', '.join(task.name for task in suite.tasks)}")
    return 0


def _harnesses() -> int:
    for harness in map(harness_named, harnesses()):
        tried = f"tried with {harness.tried}" if harness.tried else "not tried here"
        print(f"{harness.name:<12} {visible(harness.about)}; {tried}")
    return 0


async def _check(names: Sequence[str], unconfined: bool) -> int:
    from pool.lab.eval.checking import check

    suites = [suite_named(name) for name in names] or list(shipped())
    bad = 0
    for suite in suites:
        for task in suite.tasks:
            found = await check(task, unconfined=unconfined)
            bad += bool(found.problem)
            said = found.problem or (f"not judged: {found.unknown}" if found.unknown else "ok")
            print(f"{suite.name}/{task.name}: {visible(said)}", flush=True)
    return EXIT_SOME if bad else 0


async def _evaluate(args: argparse.Namespace) -> int:
    tasks, given = chosen(suite_named(args.suite), args.task), arms(args)
    if not given:
        raise ValueError("--only-harness needs a --harness")
    thinking = Thinking(args.thinking) if args.thinking else None
    planned = list(cells(tasks, given, args.runs, thinking))
    for arm in given:
        await _reached(arm)
    folder = _folder(args)
    facts = _facts(args, given)
    (folder / PLAN).write_text(json.dumps(facts, ensure_ascii=False, indent=1), "utf-8")
    minutes = least_seconds(len(planned), SLOW_READ, SLOW_WRITE) / 60
    _tell(f"{plural(len(planned), 'run')} into {folder}; on a DGX Spark at least {minutes:.0f} min")
    running = Running(folder, _tell, unconfined=args.unconfined)
    try:
        await running.work(planned, read_rows(folder))
    except asyncio.CancelledError:
        _finish(folder, facts, _ordered(folder, planned, given), args)
        _tell(f"go on with: --resume {folder}")
        raise
    rows = _ordered(folder, planned, given)
    _finish(folder, facts, rows, args)
    return EXIT_SOME if any(row.error for row in rows) or len(rows) < len(planned) else 0


def _ordered(folder: Path, planned: Sequence[Cell], given: Sequence[Arm]) -> list[Row]:
    """The rows that were made, by arm, the first one first, whichever was worked first."""
    by_key = {row.key: row for row in read_rows(folder)}
    ordered = sorted(planned, key=lambda cell: (given.index(cell.arm), not cell.thinking))
    return [by_key[cell.key] for cell in ordered if cell.key in by_key]


async def _reached(arm: Arm) -> None:
    """Ask whether the arm's server is there, before anything is made. Raises `SettingsError`, `ServerProblem`."""
    flags = flag_values(dict(arm.flags))
    loaded = await asyncio.to_thread(settings_for, Path.cwd(), os.environ, flags, arm.profile)
    link = await find_server(loaded.settings)
    await link.client.transport.aclose()


def _folder(args: argparse.Namespace) -> Path:
    if args.resume:
        folder = expanded(Path(args.resume)).resolve()
        if not (folder / PLAN).is_file():
            raise ValueError(f"--resume {args.resume}: there is no evaluation; it would hold a {PLAN}")
        return folder
    usual = (
        base_folder("XDG_STATE_HOME") / "pool" / "eval" / f"{time.strftime('%Y%m%d-%H%M%S')}-{Path(args.suite).name}"
    )
    folder = expanded(Path(args.into)).resolve() if args.into else usual
    if (folder / RESULTS).exists():
        raise ValueError(f"{folder} holds an evaluation already; go on with it by --resume, or name another folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _facts(args: argparse.Namespace, given: Sequence[Arm]) -> dict[str, str]:
    return {
        "suite": args.suite,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "Pool": __version__,
        "runs of each task": str(args.runs),
        "arms": "; ".join(f"{arm.name} {' '.join(arm.flags.values())}".strip() for arm in given),
    }


def _finish(folder: Path, facts: dict[str, str], rows: Sequence[Row], args: argparse.Namespace) -> None:
    title = f"pool eval {facts['suite']}"
    told = {**facts, **_servers(rows)}
    text = page(title, told, rows)
    for place in (folder / REPORT, *([expanded(Path(args.html))] if args.html else [])):
        place.write_text(text, "utf-8")
    if args.publish:
        from pool.lab.eval.published import published

        for note in published(folder, expanded(Path(args.publish)), told, rows):
            _tell(note)
    if args.json:
        figures = {"facts": told, "arms": [plain(one) for one in summaries(rows)], "rows": [r.to_dict() for r in rows]}
        print(json.dumps(figures, ensure_ascii=False, indent=1))
    else:
        print(report(rows), end="")
    _tell(f"page: {folder / REPORT}")


def _servers(rows: Sequence[Row]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows:
        if row.model:
            found[f"server of {row.arm}"] = " ".join((row.server, row.model, row.build)).strip()
    return found


def _show(folder: Path) -> int:
    rows = read_rows(folder)
    if not rows:
        raise ValueError(f"{folder}: there is no evaluation; it would hold {RESULTS}")
    print(report(rows), end="")
    return 0


def _tell(text: str) -> None:
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()
