"""`pool eval import KIND PATH DIR`: a suite that a user has becomes a folder of tasks."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Sequence
from pathlib import Path

from pool.lab.eval.importing.layout import Imported, ImportProblem, write_task
from pool_tools.home import expanded
from pool_tools.text import plural, visible

PROGRAM = "pool eval import"
KINDS = ("polyglot", "exercism", "quixbugs", "bfcl", "swebench")
EXIT_USAGE = 2
SHOWN_LEFT_OUT = 10


def parser() -> argparse.ArgumentParser:
    """The flags of `pool eval import`."""
    p = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Write a suite that you have as tasks in Harbor's layout: pool eval DIR and harbor run -p DIR take "
        "them. Nothing is downloaded.",
        epilog="Exit codes: 0 done, 2 usage, or a suite that cannot be read.",
    )
    p.add_argument("kind", choices=KINDS, help="what PATH holds")
    p.add_argument("path", help="a clone of the suite, a track or an exercise; a file of JSON lines for bfcl, swebench")
    p.add_argument("dir", help="the folder for the tasks")
    p.add_argument("--only", metavar="GLOB", default="*", help="only tasks whose names fit, as 'python-*'")
    p.add_argument("--limit", metavar="N", type=int, default=0, help="at most so many")
    p.add_argument("--language", metavar="NAME", action="append", default=[], help="polyglot, exercism: only this one")
    p.add_argument(
        "--repos", metavar="DIR", default="", help="swebench: clones, as OWNER__NAME, to take the trees from"
    )
    p.add_argument(
        "--test-command", metavar="CMD", default="", help="swebench: how tests are run (default: pytest -rA)"
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool eval import`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        return _import(args)
    except ImportProblem as problem:
        return _refuse(str(problem))
    except OSError as error:
        return _refuse(f"{error.strerror}: {error.filename}")


def _import(args: argparse.Namespace) -> int:
    into = expanded(args.dir)
    source = expanded(args.path)
    if not source.exists():
        raise ImportProblem(f"there is no {source}")
    found = _read(args, source)
    tasks = [task for task in found.tasks if fnmatch.fnmatch(task.name, args.only)]
    tasks = tasks[: args.limit] if args.limit > 0 else tasks
    if not tasks:
        raise ImportProblem(f"no task is left: {plural(len(found.tasks), 'task')} found, --only {args.only}")
    for task in tasks:
        write_task(task, into)
    print(f"{plural(len(tasks), 'task')} written to {visible(str(into))}")
    for name, why in found.left_out[:SHOWN_LEFT_OUT]:
        sys.stderr.write(f"left out: {visible(name)}: {visible(why)}\n")
    if more := len(found.left_out) - SHOWN_LEFT_OUT:
        sys.stderr.write(f"left out: {more:,} more\n" if more > 0 else "")
    if any(task.app is None and task.about.get("kind") != "functions" for task in tasks):
        sys.stderr.write("these tasks have their trees in images alone: harbor run takes them, pool eval does not\n")
    return 0


def _read(args: argparse.Namespace, source: Path) -> Imported:
    match args.kind:
        case "polyglot" | "exercism":
            from pool.lab.eval.importing.exercism import read as exercism

            return exercism(source, args.language)
        case "quixbugs":
            from pool.lab.eval.importing.quixbugs import read as quixbugs

            return quixbugs(source)
        case "bfcl":
            from pool.lab.eval.importing.bfcl import read as bfcl

            return bfcl(source)
        case _:
            from pool.lab.eval.importing.swebench import read as swebench

            return swebench(source, expanded(args.repos) if args.repos else None, args.test_command)


def _refuse(why: str) -> int:
    sys.stderr.write(f"{PROGRAM}: {visible(why)}\n")
    return EXIT_USAGE
