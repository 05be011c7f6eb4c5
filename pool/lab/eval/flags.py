"""The flags of `pool eval`, and the arms that they name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pool.lab.eval.plan import Arm
from pool.lab.eval.task import Thinking

HELP = """\
Work tasks with a model and judge what comes of it: pass, held-out pass, turns, tokens, time, guards, audit, with
intervals. SUITE is one that comes with Pool (pool eval list), SUITE/TASK, or a folder of tasks in Harbor's layout.

other uses:
  pool eval list                    the suites that come with Pool
  pool eval check [SUITE]           whether reference solutions pass and naive attempts fail; asks no model
  pool eval report DIR              tables and page of an evaluation that was made
  pool eval import KIND PATH DIR    a suite of your own becomes tasks: polyglot, exercism, quixbugs, bfcl, swebench
  pool eval harnesses               other agents' command lines that --harness takes
"""
EPILOG = "Exit codes: 0 done, 1 some runs have no result, 2 usage, 75 no server, 130 interrupted. See docs/eval.md."


def parser() -> argparse.ArgumentParser:
    """The flags of `pool eval`."""
    p = argparse.ArgumentParser(
        prog="pool eval", description=HELP, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("suite", metavar="SUITE", help="fix, tools, ja, page, impossible, loop, all, or a folder")
    p.add_argument("more", metavar="PATH", nargs="*", help=argparse.SUPPRESS)
    p.add_argument("--task", metavar="NAME", action="append", default=[], help="only this task of the suite")
    p.add_argument("-n", "--runs", type=_count, default=1, metavar="N", help="runs of each task (1)")
    p.add_argument("--thinking", choices=[one.value for one in Thinking], help="on, off or both; default: the task's")
    p.add_argument("--base-url", metavar="URL", default="", help="server (POOL_BASE_URL)")
    p.add_argument("--model", metavar="ID", default="", help="model id")
    p.add_argument("--profile", metavar="NAME", default="", help="settings by a name (pool config)")
    p.add_argument(
        "--against",
        metavar="[NAME=]URL[#MODEL]",
        action="append",
        default=[],
        help="another server beside the first, its runs in between",
    )
    p.add_argument(
        "--harness", metavar="NAME", action="append", default=[], help="another agent's command line beside Pool"
    )
    p.add_argument("--only-harness", action="store_true", help="the harnesses alone, without Pool")
    p.add_argument("--into", metavar="DIR", default="", help="folder for what is made (default: in the state folder)")
    p.add_argument("--resume", metavar="DIR", default="", help="go on with an evaluation that was broken off")
    p.add_argument("--html", metavar="FILE", default="", help="the page with plots, there too")
    p.add_argument("--publish", metavar="DIR", default="", help="a site of all runs, without secrets, as plain files")
    p.add_argument("--json", action="store_true", help="all rows and figures as JSON on stdout")
    p.add_argument("--unconfined", action="store_true", help="without a sandbox: in a container made for it alone")
    return p


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1000:
        raise argparse.ArgumentTypeError("from 1 to 1000")
    return value


def arms(args: argparse.Namespace) -> list[Arm]:
    """The arms, each with a name of its own. Raises ValueError for two of one name."""
    made = list(_arms(args))
    names = [arm.name for arm in made]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ValueError(f"two arms are called {twice!r}; name one of them: --against NAME=URL")
    return made


def _arms(args: argparse.Namespace) -> Iterator[Arm]:
    own = _flags(args.base_url, args.model)
    if not args.only_harness:
        yield Arm("pool", own, args.profile)
    for text in args.against:
        name, is_named, rest = text.partition("=")
        if not is_named or "/" in name:
            name, rest = "", text
        url, _, model = rest.partition("#")
        yield Arm(name or url.partition("//")[2] or url, _flags(url, model), args.profile)
    for name in args.harness:
        yield Arm(name, own, args.profile, name)


def _flags(url: str, model: str) -> dict[str, str]:
    given = {"server.base_url": url, "server.model": model}
    return {name: value for name, value in given.items() if value}
