"""A review from its flags to its report: the change found, the runs worked, the findings written."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

from pool.agent.gitwork.errors import GitWorkError
from pool.agent.review.finding import Severity
from pool.agent.review.parts import reviewable
from pool.agent.review.report import Review
from pool.agent.review.source import MOST_PATCH_BYTES, Diff, NothingToReview, find, of_patch, only
from pool.agent.review.working import Reviewing
from pool.agent.state import Stop
from pool.config.settings import Settings, SettingsError
from pool.events import STOP_TABLE, Event, StopReason
from pool.headless.command import parser as run_parser
from pool.headless.configured import as_text, settings_from
from pool.headless.output import Progress
from pool.headless.plain import safe
from pool.headless.review.command import PROGRAM
from pool.headless.review.writing import write, write_sarif
from pool.headless.run import ended_by_signals
from pool.sessions.checkpoints.repository import repository_of
from pool.wire.errors import ServerProblem
from pool_tools.api import ToolError
from pool_tools.home import expanded

STDIN = "-"
STDIN_NAME = "the patch on stdin"


def review(args: argparse.Namespace) -> int:
    """Review what the flags name; returns the exit code."""
    try:
        return asyncio.run(reviewed(args))
    except (SettingsError, NothingToReview, GitWorkError, ToolError) as error:
        return _complain(str(error), StopReason.USAGE_ERROR)
    except ServerProblem as problem:
        return _complain(f"{problem}\n  {problem.remedy}" if problem.remedy else str(problem), StopReason.SERVER_FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted, before the review could begin", StopReason.INTERRUPTED)
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        return _complain(f"{error.strerror or error}{place}", StopReason.USAGE_ERROR)


async def reviewed(args: argparse.Namespace) -> int:
    """Review what the flags name and write the report; the exit code. Raises what `review` turns into words."""
    settings = _settings(args)
    diff = await _diff(args, settings)
    files, left_out = reviewable(diff.files)
    if not files:
        return _written(args, Review(diff.what, left_out=(*diff.left_out, *left_out)))
    progress = Progress(sys.stderr, 0 if args.quiet else 1 if args.verbose or sys.stderr.isatty() else 0)

    async def follow(events: AsyncIterator[Event]) -> None:
        async for event in events:
            progress.show(event)

    def tell(line: str) -> None:
        if not args.quiet:
            progress.remark(safe(f"{PROGRAM}: {line}", terminal=True))

    reviewing = Reviewing(settings, diff, focus=as_text(args.focus), tell=tell, follow=follow)

    def stop(why: Stop) -> None:
        reviewing.stop(why)

    with ended_by_signals(stop):
        report = await reviewing.run()
    return _written(args, report)


def _settings(args: argparse.Namespace) -> Settings:
    """Settings as those of `pool run` with the same flags, for the whole repository. Raises `SettingsError`."""
    given = run_parser().parse_args([])
    vars(given).update(vars(args))
    given.plan, given.ephemeral = True, not args.keep
    settings = settings_from(given, program=PROGRAM)
    repository = repository_of(settings.workspace)
    return settings if repository is None else replace(settings, workspace=repository.top)


async def _diff(args: argparse.Namespace, settings: Settings) -> Diff:
    """The change that the flags name. Raises `NothingToReview`, `GitWorkError` and `OSError`."""
    change = as_text(args.change)
    if args.staged and change:
        raise NothingToReview("--staged and a branch, range or patch cannot be together")
    if change == STDIN:
        diff = of_patch(sys.stdin.buffer.read(MOST_PATCH_BYTES + 1), STDIN_NAME)
    else:
        diff = await find(settings, change, expanded(args.dir).resolve(), staged=args.staged)
    if not args.paths:
        return diff
    here = expanded(args.dir).resolve()
    return only(diff, [os.path.relpath(here / path, settings.workspace) for path in args.paths])


def _written(args: argparse.Namespace, report: Review) -> int:
    """Write the report; the exit code."""
    fail_on = None if args.fail_on == "never" else Severity(args.fail_on)
    if args.sarif:
        write_sarif(report, fail_on, expanded(args.sarif))
    write(report, args.output, fail_on)
    return report.exit_code(fail_on)


def _complain(text: str, reason: StopReason) -> int:
    sys.stderr.write(safe(f"{PROGRAM}: {text}", terminal=True) + "\n")
    return STOP_TABLE[reason].exit
