"""The command line of `pool audit`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pool.agent.audit.audit import Audit, audit_log, audit_trajectory
from pool.agent.audit.dismissals import (
    audits_folder,
    dismiss,
    dismissals_of_log,
    dismissals_of_trajectory,
    read_dismissals,
)
from pool.agent.audit.facts import AuditProblem, TaskFacts
from pool.agent.audit.rerun import verified
from pool.agent.audit.shown import shown
from pool.agent.audit.verdict import Verdict
from pool.config.settings import SettingsError
from pool.events import STOP_TABLE, StopReason
from pool.lab.audit import calibration
from pool.sessions.store import NoSuchSession, by_id, last_of, sessions_folder
from pool.wire.errors import ServerProblem
from pool_tools.frozen import frozen
from pool_tools.home import expanded
from pool_tools.text import printable

EXIT_FAILED, EXIT_USAGE = 1, 2
EXIT_UNVERIFIED = STOP_TABLE[StopReason.UNVERIFIED].exit
EXIT_SUSPECTED = 10
EXIT_AWAY = STOP_TABLE[StopReason.SERVER_FAILED].exit
JUDGE_WAIT_SECONDS = 2.0
"""A judge whose server does not answer is not waited for as the model of a run is."""

EXITS = {
    Verdict.CLEAN: 0,
    Verdict.VERIFIED: 0,
    Verdict.UNVERIFIED: EXIT_UNVERIFIED,
    Verdict.CONTRADICTED: EXIT_UNVERIFIED,
    Verdict.SUSPECTED: EXIT_SUSPECTED,
}


def parser() -> argparse.ArgumentParser:
    """The flags of `pool audit`."""
    p = argparse.ArgumentParser(
        prog="pool audit",
        description="Did a run earn its success? Looks at what a session, or any agent's trajectory (ATIF), changed, "
        "ran and claimed; then puts the original tests back over the result in a clean copy and runs them in the "
        "sandbox, with the network off.",
        epilog="Exit codes: 0 clean, or tests edited but verified; 9 unverified or contradicted; 10 suspected; 1 it "
        "cannot be read; 2 usage, or no such session; 75 the judge's server cannot be reached. See docs/audit.md.",
    )
    p.add_argument(
        "source", nargs="?", default="", metavar="SESSION|TRAJECTORY", help="default: this folder's last session"
    )
    p.add_argument("--no-rerun", action="store_true", help="run nothing: only what the record shows")
    p.add_argument("--original", type=Path, metavar="DIR", help="the tree before the run, where it is not kept")
    p.add_argument("--result", type=Path, metavar="DIR", help="the tree after the run (default: the session's folder)")
    p.add_argument("--tests", default="", metavar="COMMAND", help="runs the tests (default: as the run did)")
    p.add_argument("--held-out", type=Path, metavar="DIR", help="tests that the agent never saw, laid over the result")
    p.add_argument("--held-out-tests", default="", metavar="COMMAND", help="runs those (default: as --tests)")
    p.add_argument("--unconfined", action="store_true", help="run tests without a sandbox where none works")
    p.add_argument("--evaluation", action="store_true", help="looking the answer up counts as cheating")
    p.add_argument("--hidden", action="append", default=[], metavar="PATH", help="what the agent must not open")
    p.add_argument("--judge", action="store_true", help="ask the model of --base-url, twice, in a fresh context")
    p.add_argument("--base-url", metavar="URL", help="the judge's server (POOL_BASE_URL)")
    p.add_argument("--model", metavar="ID", help="the judge's model (POOL_MODEL)")
    p.add_argument("--dismiss", metavar="KEY", default="", help="dismiss the finding of that key, with --reason")
    p.add_argument("--undismiss", metavar="KEY", default="", help="take that back")
    p.add_argument("--reason", default="", help="why it is dismissed")
    p.add_argument("--label", choices=["fair", "unfair"], help="what you think of the run, for the calibration")
    p.add_argument("--calibration", nargs="?", const="", metavar="FILE", help="precision and recall over labelled runs")
    p.add_argument("--json", action="store_true", help="one JSON object")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the folder whose last session is meant")
    return p


@frozen
class _Source:
    """What is audited: a session's log or a trajectory, and where its dismissals lie."""

    place: Path
    dismissals: Path
    is_log: bool


def main(argv: Sequence[str]) -> int:
    """Run `pool audit`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    if args.dismiss and not args.reason.strip():
        return _complain("--dismiss needs --reason 'WHY': a finding is dismissed with a reason", EXIT_USAGE)
    try:
        if args.calibration is not None:
            return _calibration(args)
        return _audit(args, _source(args))
    except NoSuchSession as error:
        return _complain(str(error), EXIT_USAGE)
    except AuditProblem as error:
        return _complain(str(error), EXIT_FAILED)
    except SettingsError as error:
        return _complain(str(error), EXIT_USAGE)
    except ServerProblem as problem:
        return _complain(f"{problem}{f'; {problem.remedy}' if problem.remedy else ''}", EXIT_AWAY)
    except OSError as error:
        return _complain(f"{error.strerror}: {error.filename}" if error.filename else str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        return STOP_TABLE[StopReason.INTERRUPTED].exit


def _source(args: argparse.Namespace) -> _Source:
    """What the first argument names: a file that is there, else a session. Raises `NoSuchSession`."""
    given = Path(args.source) if args.source else None
    if given is not None and given.is_file():
        if given.suffix == ".jsonl" and _is_log(given):
            return _Source(given, dismissals_of_log(given), True)
        return _Source(given, dismissals_of_trajectory(given), False)
    if given is not None and (os.sep in args.source or given.suffix == ".json"):
        raise AuditProblem(f"{args.source}: there is no such file")
    folder = sessions_folder()
    found = by_id(folder, args.source) if given else last_of(folder, str(expanded(args.dir).resolve()))
    return _Source(found.path, dismissals_of_log(found.path), True)


def _is_log(place: Path) -> bool:
    with place.open("rb") as file:
        try:
            row: Any = json.loads(file.readline())
        except (ValueError, RecursionError):
            return False
    return isinstance(row, dict) and cast(dict[str, Any], row).get("type") == "session"


def _facts(args: argparse.Namespace) -> TaskFacts:
    for name in ("original", "result", "held_out"):
        place: Path | None = getattr(args, name)
        if place is not None and not place.is_dir():
            raise AuditProblem(f"--{name.replace('_', '-')}: {place} is no folder")

    def real(place: Path | None) -> Path | None:
        return place.resolve() if place is not None else None

    return TaskFacts(
        original=real(args.original),
        result=real(args.result),
        tests=args.tests,
        hidden=tuple(args.hidden),
        evaluation=args.evaluation,
        held_out=real(args.held_out),
        held_out_tests=args.held_out_tests,
    )


def _audit(args: argparse.Namespace, source: _Source) -> int:
    facts = _facts(args)
    audit = audit_log(source.place, facts) if source.is_log else audit_trajectory(source.place, facts)
    audit = audit.dismissing(read_dismissals(source.dismissals))
    if key := args.dismiss or args.undismiss:
        audit = audit.dismissing(dismiss(source.dismissals, audit, key, args.reason if args.dismiss else ""))
    if not args.no_rerun and not key:
        if sys.stderr.isatty():
            sys.stderr.write("pool audit: the original tests are run again (--no-rerun leaves that out)\n")
        audit = asyncio.run(verified(audit, unconfined=args.unconfined))
    if args.judge:
        audit = asyncio.run(_judged(audit, args))
    if args.label:
        place = audits_folder(sessions_folder()) / calibration.FILE_NAME
        calibration.add(place, calibration.labelled(audit, fair=args.label == "fair", note=args.reason))
    if args.json:
        print(json.dumps(audit.to_dict(), ensure_ascii=True))
    else:
        for line in shown(audit, shutil.get_terminal_size().columns):
            sys.stdout.write(f"{line}\n")
    return EXITS[audit.verdict]


async def _judged(audit: Audit, args: argparse.Namespace) -> Audit:
    # Only a judge needs the server's side of Pool.
    from pool.agent.audit.judge import asker, judged
    from pool.agent.configured import settings_for
    from pool.agent.server import find_server
    from pool.config.load import flag_values

    flags = flag_values({"server.base_url": args.base_url, "server.model": args.model})
    settings = settings_for(Path.cwd(), os.environ, flags).settings
    settings = replace(settings, first_contact_seconds=min(settings.first_contact_seconds, JUDGE_WAIT_SECONDS))
    async with await find_server(settings) as link:
        await link.settled()
        return replace(audit, judgement=await judged(audit, asker(link, settings), link.model))


def _calibration(args: argparse.Namespace) -> int:
    place = Path(args.calibration) if args.calibration else audits_folder(sessions_folder()) / calibration.FILE_NAME
    if not place.is_file():
        raise AuditProblem(f"there are no labels yet ({place}); pool audit SESSION --label fair|unfair makes one")
    rows = calibration.read(place)
    if args.json:
        print(json.dumps(calibration.to_dict(rows)))
        return 0
    for line in calibration.table(rows):
        sys.stdout.write(f"{line}\n")
    return 0


def _complain(text: str, code: int) -> int:
    sys.stderr.write(f"pool audit: {printable(text)}\n")
    return code
