"""The command line of `pool doctor`."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from pool.agent.configured import settings_for
from pool.config.load import flag_values
from pool.config.settings import ServerEnvironment, SettingsError
from pool.events import STOP_TABLE, StopReason
from pool.lab.doctor.examine import CHECKS, Cost, Step, chosen, cost, examine, skipped
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.profile import DEFAULT_NAME, as_toml, proposal, user_file, write
from pool.lab.doctor.report import Look, TextReport, cost_words, json_report
from pool.lab.doctor.subject import REQUEST_SECONDS, Subject
from pool.wire.endpoint import EndpointError, parse_endpoint
from pool.wire.probe import USUAL_PORTS, discover
from pool.wire.request import Sampling
from pool.wire.transport import Transport
from pool_tools.text import visible

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_AWAY = STOP_TABLE[StopReason.SERVER_FAILED].exit
EXIT_INTERRUPTED = STOP_TABLE[StopReason.INTERRUPTED].exit


def parser() -> argparse.ArgumentParser:
    """The flags of `pool doctor`."""
    p = argparse.ArgumentParser(
        prog="pool doctor",
        description="Check whether a model server is set up so that an agent can work with it.",
        epilog="Exit codes: 0 nothing failed, 1 a check failed, 2 usage, 75 the server cannot be reached, "
        "130 interrupted. See docs/doctor.md.",
    )
    names = [check.name for check in CHECKS]
    p.add_argument("--base-url", metavar="URL", help="server, such as http://127.0.0.1:8000 (POOL_BASE_URL)")
    p.add_argument("--model", metavar="ID", help="model id; default: as pool run chooses it (POOL_MODEL)")
    p.add_argument("--profile", metavar="NAME", default="", help="the server of a profile (pool config)")
    p.add_argument("--only", nargs="+", metavar="NAME", choices=names, default=[], help=f"some of: {', '.join(names)}")
    p.add_argument(
        "--timeout", type=_seconds, default=REQUEST_SECONDS, metavar="S", help="limit of one request (default 120)"
    )
    p.add_argument("--json", action="store_true", help="one JSON object instead of text")
    p.add_argument(
        "--fix",
        nargs="?",
        const=DEFAULT_NAME,
        metavar="PROFILE",
        type=_profile_name,
        help=f"write what was found as a profile of yours ({DEFAULT_NAME}), after showing it",
    )
    p.add_argument("--yes", action="store_true", help="with --fix: write it without asking")
    return p


def _given(args: argparse.Namespace) -> tuple[ServerEnvironment, Sampling]:
    """The server that flags, the environment and files name, and what a run would sample with; warnings go to stderr.

    Raises `SettingsError`.
    """
    flags = flag_values({"server.base_url": args.base_url, "server.model": args.model})
    loaded = settings_for(Path.cwd(), os.environ, flags, args.profile)
    for warning in loaded.warnings:
        sys.stderr.write(f"pool doctor: {warning}\n")
    found = loaded.settings
    server = ServerEnvironment(found.base_url, found.model, found.api_key, found.window, found.headers)
    given = found.sampling
    return server, Sampling(given.temperature, given.top_p, given.top_k, dict(given.extra))


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return value


def _profile_name(text: str) -> str:
    if not text.replace("-", "").replace("_", "").isalnum():
        raise argparse.ArgumentTypeError("the name of a profile is letters, digits, - and _")
    return text


def main(argv: Sequence[str]) -> int:
    """Run `pool doctor`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        given, sampling = _given(args)
        if given.base_url:
            parse_endpoint(given.base_url, given.api_key, given.headers)
    except (SettingsError, EndpointError) as error:
        sys.stderr.write(f"pool doctor: {error}\n")
        return EXIT_USAGE
    checks = chosen(args.only)
    visit = Visit(given, checks, cost(checks), args.timeout, sampling)
    shown = JsonOutput(sys.stdout, sys.stderr) if args.json else TextOutput(sys.stdout, checks, args.timeout)
    try:
        asyncio.run(visit.run(shown))
    except KeyboardInterrupt:
        visit.interrupt()
    if visit.subject is None:
        return EXIT_INTERRUPTED
    code = visit.exit_code
    shown.end(visit, visit.subject, code)
    if args.fix and not visit.interrupted:
        return _fix(args, visit, visit.subject) or code
    return code


def _fix(args: argparse.Namespace, visit: Visit, subject: Subject) -> int:
    """Show the profile and write it if that is wanted. Words go to stderr beside JSON. 0, or an exit code."""
    out = sys.stderr if args.json else sys.stdout
    values = proposal(visit.findings, subject)
    if not values:
        print("\nNothing to write: no server was found.", file=out)
        return 0
    path = user_file(os.environ)
    print(f"\n{visible(str(path))} gets:\n\n{as_toml(args.fix, values)}", file=out)
    if not args.yes and not (sys.stdin.isatty() and _agreed(out)):
        print("Nothing was written. --yes writes it without asking.", file=out)
        return 0
    try:
        write(path, args.fix, values)
    except (SettingsError, OSError) as error:
        sys.stderr.write(f"pool doctor: {error}\n")
        return EXIT_USAGE
    print(f"Written. Use it: pool --profile {args.fix}", file=out)
    return 0


def _agreed(out: TextIO) -> bool:
    out.write("Write it? [y/N] ")
    out.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class TextOutput:
    """Text as the checks go."""

    def __init__(self, out: TextIO, checks: Sequence[Check], limit_seconds: float) -> None:
        self._report = TextReport(out, look_for(out, os.environ), checks, limit_seconds)

    def begin(self, subject: Subject, checks: Sequence[Check], price: Cost) -> None:
        self._report.begin(subject.display, checks, price)

    def step(self, step: Step) -> None:
        self._report.step(step)

    def end(self, visit: Visit, subject: Subject, code: int) -> None:
        self._report.end(visit.findings, subject, interrupted=visit.interrupted)


class JsonOutput:
    """One object at the end; the price beforehand goes to stderr."""

    def __init__(self, out: TextIO, notes: TextIO) -> None:
        self._out = out
        self._notes = notes

    def begin(self, subject: Subject, checks: Sequence[Check], price: Cost) -> None:
        self._notes.write(f"pool doctor: {cost_words(checks, price)}\n")
        self._notes.flush()

    def step(self, step: Step) -> None:
        """Nothing yet."""

    def end(self, visit: Visit, subject: Subject, code: int) -> None:
        self._out.write(json_report(subject, visit.steps, visit.price, code, interrupted=visit.interrupted) + "\n")


@dataclass(slots=True)
class Visit:
    """One run of the command: what it was told, and what has come of it so far (also if it is interrupted)."""

    given: ServerEnvironment
    checks: tuple[Check, ...]
    price: Cost
    limit_seconds: float
    sampling: Sampling | None = None
    ports: Sequence[int] = USUAL_PORTS
    subject: Subject | None = None
    steps: list[Step] = field(default_factory=list[Step])
    interrupted: bool = False

    @property
    def findings(self) -> list[Finding]:
        """What was found, in order."""
        return [step.finding for step in self.steps if step.finding is not None]

    @property
    def exit_code(self) -> int:
        """As the help text says."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        failed = [finding for finding in self.findings if finding.status is Status.FAIL]
        if any(finding.data.get("away") for finding in failed):
            return EXIT_AWAY
        return EXIT_FAILED if failed else 0

    async def run(self, shown: TextOutput | JsonOutput) -> None:
        """Find the server and make the checks."""
        found = None if self.given.base_url else await discover(self.ports)
        url = self.given.base_url or (found[0].base_url if found else f"http://127.0.0.1:{self.ports[0]}")
        async with Transport(parse_endpoint(url, self.given.api_key, self.given.headers)) as transport:
            subject = Subject(
                transport, self.given, found=found, limit_seconds=self.limit_seconds, sampling=self.sampling
            )
            self.subject = subject
            shown.begin(subject, self.checks, self.price)
            async with aclosing(examine(subject, self.checks)) as steps:
                async for step in steps:
                    if step.finding is not None:
                        self.steps.append(step)
                    shown.step(step)

    def interrupt(self) -> None:
        """Note that the rest was not made."""
        self.interrupted = True
        made = {finding.name for finding in self.findings}
        left = [check for check in self.checks if check.name not in made]
        self.steps += [Step(check, skipped(check, "interrupted")) for check in left]


def look_for(out: TextIO, environment: Mapping[str, str]) -> Look:
    """How text can be shown on out."""
    terminal = out.isatty() and environment.get("TERM") != "dumb"
    return Look(
        width=shutil.get_terminal_size().columns,
        unicode=(out.encoding or "").lower().replace("-", "") == "utf8",
        colours=terminal and not environment.get("NO_COLOR"),
        live=terminal,
    )
