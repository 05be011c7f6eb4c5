"""The steps of the report, and working one: a command of Pool's with a limit, its output into a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from pool_tools.frozen import frozen

MINUTE = 60.0
GRACE_SECONDS = 10.0
"""After its limit a step is interrupted, as by Ctrl-C, and has this long to write down what it found."""


class Outcome(StrEnum):
    """How a step went. LIMIT: it ran out of time, what it had found is kept. SKIPPED: this Pool has no such command."""

    DONE = "done"
    FOUND = "done, and it found something"
    FAILED = "failed"
    LIMIT = "out of time"
    SKIPPED = "skipped"


@frozen
class Step:
    """A step: words are a command line of Pool's, file is where its output goes, limit_seconds how long it may take.

    found are exit codes that mean: it worked, and found something wrong.
    """

    name: str
    words: tuple[str, ...]
    file: str
    limit_seconds: float
    found: tuple[int, ...] = ()


@frozen
class Done:
    """A step that was worked; note says in words what a reader should know."""

    step: Step
    outcome: Outcome
    seconds: float
    note: str = ""


_SOME = ("--task", "inventory", "--task", "statements")


def planned(python: Sequence[str]) -> tuple[Step, ...]:
    """The steps in order; their limits add up to 43 minutes. python runs a module: `(sys.executable, "-m")`."""
    pool = (*python, "pool")
    return (
        Step("doctor", (*pool, "doctor", "--json"), "doctor.json", 5 * MINUTE, found=(1,)),
        Step("bench", (*pool, "bench", "--protocol", "seed", "--json"), "bench.json", 14 * MINUTE),
        Step("session", (*python, "pool.lab.spark.session"), "session.json", 8 * MINUTE, found=(1,)),
        Step("thought", (*python, "pool.lab.spark.thought"), "thought.json", 2 * MINUTE, found=(1,)),
        Step("eval-tools", (*pool, "eval", "tools", "--json"), "eval-tools.json", 5 * MINUTE, found=(1,)),
        # All four tasks of the suite could take an hour; these two are its smallest and one of its larger ones.
        Step("eval-fix", (*pool, "eval", "fix", *_SOME, "--json"), "eval-fix.json", 9 * MINUTE, found=(1,)),
    )


def this_python() -> tuple[str, str]:
    """How a module is run by the Python that runs now."""
    return sys.executable, "-m"


def work(step: Step, folder: Path, environ: Mapping[str, str], has: Callable[[str], bool]) -> Done:
    """Work a step, its standard output and error as files into folder. Raises OSError where these cannot be written.

    has says whether Pool has a command of that name. KeyboardInterrupt ends the step and goes on upwards.
    """
    command = step.words[3] if step.words[2] == "pool" else ""
    if command and not has(command):
        return Done(step, Outcome.SKIPPED, 0.0, f"this Pool has no command {command!r} yet")
    begun = time.monotonic()
    with (folder / step.file).open("wb") as out, (folder / f"{step.name}.log").open("wb") as log:
        process = subprocess.Popen(
            step.words, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=dict(environ), start_new_session=True
        )
        try:
            code = process.wait(step.limit_seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return Done(step, Outcome.LIMIT, time.monotonic() - begun, f"ended after {step.limit_seconds:.0f} s")
        except BaseException:
            _end(process)
            raise
    seconds = time.monotonic() - begun
    if code == 0:
        return Done(step, Outcome.DONE, seconds)
    if code in step.found:
        return Done(step, Outcome.FOUND, seconds)
    return Done(step, Outcome.FAILED, seconds, f"exit code {code}; see {step.name}.log")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it and what it started, then kill what is left."""
    for number, patience in ((signal.SIGINT, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue
