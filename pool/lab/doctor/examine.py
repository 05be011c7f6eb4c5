"""Making the checks in their order: what they need, what they cost, and what a failed request means."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Collection, Sequence

from pool.lab.doctor.cache import CACHE
from pool.lab.doctor.calling import TOOL_CALL
from pool.lab.doctor.drafts import GRAPHS, SPECULATION
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.history import HISTORY
from pool.lab.doctor.leaks import LEAKS
from pool.lab.doctor.machine import GIT, MEMORY, RIPGREP, SANDBOX
from pool.lab.doctor.model import MODEL, WINDOW
from pool.lab.doctor.pair import FORCED_CALL, TWO_CALLS
from pool.lab.doctor.powers import BUDGET, LOOP_STOP, SAMPLING, SCHEMA_CHECK
from pool.lab.doctor.reach import REACHABLE, SERVER
from pool.lab.doctor.remedies import again, export
from pool.lab.doctor.sizes import TOKENS, TRUNCATION
from pool.lab.doctor.speed import SPEED
from pool.lab.doctor.stream import STREAM
from pool.lab.doctor.subject import Subject
from pool.lab.doctor.terminal import CLIPBOARD, FONTS, TERMINAL
from pool.lab.doctor.thinking import THINKING
from pool.lab.doctor.unswitched import UNSWITCHED
from pool.lab.doctor.whole import UNSTREAMED
from pool.wire.errors import ProblemKind, ServerProblem
from pool_tools.frozen import frozen

SERVER_CHECKS: tuple[Check, ...] = (
    REACHABLE,
    SERVER,
    MODEL,
    WINDOW,
    STREAM,
    TOOL_CALL,
    TWO_CALLS,
    FORCED_CALL,
    THINKING,
    HISTORY,
    LEAKS,
    UNSTREAMED,
    UNSWITCHED,
    BUDGET,
    LOOP_STOP,
    SCHEMA_CHECK,
    SAMPLING,
    SPECULATION,
    GRAPHS,
    CACHE,
    TRUNCATION,
    TOKENS,
    SPEED,
)
MACHINE_CHECKS: tuple[Check, ...] = (MEMORY, SANDBOX, GIT, RIPGREP, TERMINAL, FONTS, CLIPBOARD)
CHECKS = (*SERVER_CHECKS, *MACHINE_CHECKS)

SLOW_READ_RATE = 600
"""Tokens of a prompt that a slow server reads in a second."""

SLOW_WRITE_RATE = 20
"""Tokens of a reply that a slow server writes in a second."""

LONGER_FACTOR = 5


@frozen
class Cost:
    """The most tokens that checks read and write."""

    reads: int
    writes: int

    @property
    def slow_seconds(self) -> float:
        """How long that takes on a slow server."""
        return self.reads / SLOW_READ_RATE + self.writes / SLOW_WRITE_RATE


@frozen
class Step:
    """A check that begins (finding is None), or has come to its end after so many seconds."""

    check: Check
    finding: Finding | None = None
    seconds: float = 0.0


def chosen(names: Collection[str]) -> tuple[Check, ...]:
    """The checks of these names and those that they need, in order; all of them for no name."""
    if not names:
        return CHECKS
    wanted = set(names)
    for check in reversed(CHECKS):
        if check.name in wanted:
            wanted |= {*check.needs, *check.after}
    return tuple(check for check in CHECKS if check.name in wanted)


def cost(checks: Sequence[Check]) -> Cost:
    """The most that checks cost."""
    return Cost(sum(check.reads for check in checks), sum(check.writes for check in checks))


async def examine(subject: Subject, checks: Sequence[Check]) -> AsyncGenerator[Step]:
    """Make the checks one after the other; each gives a step at its beginning and one at its end."""
    findings: dict[str, Finding] = {}
    for check in checks:
        blocking = next((findings[name] for name in check.needs if name in findings and findings[name].blocks), None)
        if blocking is not None:
            finding = findings[check.name] = skipped(check, f"not tried: it needs the check {blocking.name}")
            yield Step(check, finding)
            continue
        yield Step(check)
        begun = time.monotonic()
        subject.check = check.name
        try:
            finding = await check.run(subject)
        except ServerProblem as problem:
            finding = _failed(check, subject, problem)
        findings[check.name] = finding
        yield Step(check, finding, time.monotonic() - begun)


def skipped(check: Check, why: str) -> Finding:
    """The finding of a check that was not made."""
    return Finding(check.name, Status.SKIP, why)


def _failed(check: Check, subject: Subject, problem: ServerProblem) -> Finding:
    """A check that could not be completed because a request failed."""
    means = f"{check.means} {problem.remedy[:1].upper()}{problem.remedy[1:]}." if problem.remedy else check.means
    data = {"problem": problem.kind.value, "http_status": problem.status}
    return Finding(check.name, Status.FAIL, str(problem), means, _line(check, subject, problem), data)


def _line(check: Check, subject: Subject, problem: ServerProblem) -> str:
    match problem.kind:
        case ProblemKind.UNAUTHORIZED:
            return export("POOL_API_KEY", "KEY")
        case ProblemKind.TIMEOUT:
            return f"{again(check.name)} --timeout {subject.limit_seconds * LONGER_FACTOR:g}"
        case ProblemKind.MODEL_NOT_FOUND:
            return export("POOL_MODEL", next(iter(subject.info.models), "MODEL"))
        case ProblemKind.OVERFLOW:
            return subject.remedies.window
        case _:
            return again(check.name)
