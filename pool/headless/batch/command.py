"""`pool batch`: the command line."""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from pool.agent.configured import settings_for
from pool.config.settings import SettingsError
from pool.headless.batch.conduct import Conduct, left_to_do
from pool.headless.batch.engine import Engine
from pool.headless.batch.ledger import Ledger
from pool.headless.batch.local import LocalEngine
from pool.headless.batch.places import Place
from pool.headless.batch.table import Board
from pool.headless.batch.tasks import BatchError, Task, read_tasks
from pool.headless.batch.workspaces import Workspaces
from pool.headless.columns import terminal_columns
from pool.headless.plain import safe
from pool.stops import STOP_TABLE, StopReason
from pool.wire.endpoint import EndpointError, parse_endpoint

DEFAULT_JOBS = 2
MOST_JOBS = 1_000
EXIT_USAGE = STOP_TABLE[StopReason.USAGE_ERROR].exit
EXIT_NOT_ALL = STOP_TABLE[StopReason.GAVE_UP].exit
EXIT_SERVER = STOP_TABLE[StopReason.SERVER_FAILED].exit
SIGNALLED = STOP_TABLE[StopReason.SIGNALLED].exit
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def parser() -> argparse.ArgumentParser:
    """The flags of `pool batch`."""
    p = argparse.ArgumentParser(
        prog="pool batch",
        description="Work many prompts: one JSON object a line with prompt, and if wanted id, dir, isolate (auto, "
        "worktree, copy, none), server, model, mode, profile, thinking, sandbox, commit, max_turns, max_seconds, "
        "max_tokens, max_reasoning, allow, deny. Each works in a git worktree and branch of its own, or in a copy.",
        epilog="Exit codes: 0 all done, 2 usage, 4 some were not done, 75 all that were not failed for their server, "
        "128+n signal n. docs/scale.md says more.",
    )
    p.add_argument("file", metavar="FILE.jsonl", type=Path, help="the tasks")
    p.add_argument(
        "--jobs", type=_jobs, default=DEFAULT_JOBS, metavar="N", help="tasks at a time (default %(default)s)"
    )
    p.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="URL[=N]",
        help="a server, and how many tasks it may have at a time; several times for several (default: as configured)",
    )
    p.add_argument("-o", "--out", type=Path, metavar="FILE", help="results (default: FILE.results.jsonl)")
    p.add_argument("--resume", action="store_true", help="go on: what has ended is not worked again")
    p.add_argument("--retry-failed", action="store_true", help="with --resume: work again what was not done, too")
    p.add_argument("--engine", choices=["local", "ray"], default="local", help="ray: as tasks of a Ray cluster")
    p.add_argument("--ray-address", default="", metavar="ADDR", help="the cluster (default: one on this machine)")
    p.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool batch`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        tasks = read_tasks(args.file)
        places = _places(args.server, tasks, args.jobs)
        out: Path = args.out or args.file.with_name(f"{args.file.name.removesuffix('.jsonl')}.results.jsonl")
        with Ledger(out.absolute(), resume=args.resume) as ledger:
            return asyncio.run(_work(args, tasks, places, ledger))
    except BatchError as error:
        sys.stderr.write(safe(f"pool batch: {error}", terminal=True) + "\n")
        return EXIT_USAGE


async def _work(args: argparse.Namespace, tasks: list[Task], places: list[Place], ledger: Ledger) -> int:
    todo = left_to_do(tasks, ledger, failed_too=args.retry_failed)
    name = _NAME.sub("-", args.file.name.removesuffix(".jsonl")).strip("-.") or "batch"
    workspaces = Workspaces(name, ledger.path.with_name(f"{ledger.path.name.removesuffix('.jsonl')}.folders"))
    err = io.StringIO() if args.quiet else sys.stderr
    columns = terminal_columns() if err.isatty() else 0
    before = [task for task in tasks if task not in todo]
    failed = sum(1 for task in before if ledger.ended[task.id].get("exit_code"))
    board = Board(err, len(tasks), len(before), columns=columns, failed=failed)
    leaving, came = asyncio.Event(), list[int]()
    loop = asyncio.get_running_loop()

    def leave(number: int) -> None:
        came.append(number)
        leaving.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, leave, number)
    engine = _engine(args, places)
    await Conduct(ledger, engine, places, workspaces, board, args.jobs).work(todo, leaving)
    board.close()
    return SIGNALLED + came[0] if came else exit_code(tasks, ledger)


def exit_code(tasks: Sequence[Task], ledger: Ledger) -> int:
    """0 only if every task was done."""
    codes = {int(ledger.ended.get(task.id, {"exit_code": EXIT_NOT_ALL})["exit_code"]) for task in tasks} - {0}
    if not codes:
        return 0
    return EXIT_SERVER if codes == {EXIT_SERVER} else EXIT_NOT_ALL


def _engine(args: argparse.Namespace, places: Sequence[Place]) -> Engine:
    if args.engine == "local":
        return LocalEngine()
    from pool.headless.batch.rayengine import RayEngine

    return RayEngine(places, args.ray_address)


def _places(given: Sequence[str], tasks: Sequence[Task], jobs: int) -> list[Place]:
    """The servers; those of tasks count too. Without any the one that the configuration names counts."""
    places: dict[str, Place] = {}
    for text in given:
        url, most = _server(text, jobs)
        places[url] = Place(url, most)
    for task in tasks:
        if task.server and task.server not in places:
            _check(task.server)
            places[task.server] = Place(task.server, jobs)
    if not given and any(not task.server for task in tasks):
        url = _configured()
        places[url] = Place(url, jobs)
    return list(places.values())


def _server(text: str, jobs: int) -> tuple[str, int]:
    url, found, count = text.rpartition("=")
    if not (found and count.isdecimal() and count.isascii()):
        url, count = text, str(jobs)
    _check(url)
    if not 0 < int(count) <= MOST_JOBS:
        raise BatchError(f"--server {text!r}: a server has 1 to {MOST_JOBS} tasks at a time")
    return url, int(count)


def _check(url: str) -> None:
    try:
        parse_endpoint(url)
    except EndpointError as error:
        raise BatchError(f"the server {url!r} cannot be used: {error}") from None


def _configured() -> str:
    """The address of the configured server, "" where each run looks for one itself."""
    try:
        return settings_for(Path.cwd(), os.environ, {}, "", with_key=False).settings.base_url
    except SettingsError as error:
        raise BatchError(str(error)) from None


def _jobs(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and 0 < int(text) <= MOST_JOBS):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_JOBS}")
    return int(text)
