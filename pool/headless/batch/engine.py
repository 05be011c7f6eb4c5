"""Who works an attempt: a process of this machine, or a worker of a cluster. Both run the same `pool run`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from pool.headless.batch.ledger import Attempt, Ended
from pool.stops import STOP_TABLE, StopReason

Watch = Callable[[dict[str, Any]], object]
"""Gets events of an attempt as they come, as rows, where the engine can tell them."""

LOST_CODE = STOP_TABLE[StopReason.INTERNAL_ERROR].exit


class Lost(Exception):
    """Whoever worked an attempt is gone, and it with him: it can be worked anew. The message says who."""


class Engine(Protocol):
    """Works attempts. Cancelling `work` ends the attempt in order."""

    async def work(self, attempt: Attempt, watch: Watch) -> Ended:
        """Work an attempt to its end. Raises `Lost`."""
        ...

    async def close(self) -> None: ...


def command_of(attempt: Attempt, output: str) -> list[str]:
    """The command line that works an attempt; the prompt goes to its stdin."""
    server = [f"--base-url={attempt.server}"] if attempt.server else []
    flags = [*server, f"--dir={attempt.workspace}", "--in-place", "-q", f"--output={output}", *attempt.task.flags()]
    return [sys.executable, "-m", "pool", "run", *flags, "-"]


def ended_of(result: dict[str, Any], exit_code: int, said: str, seconds: float, worked_by: str = "") -> Ended:
    """How an attempt ended, from its process's exit code, its result if it printed one, and what it said."""
    if not result:
        code = 128 - exit_code if exit_code < 0 else exit_code or LOST_CODE
        reason = StopReason.SIGNALLED if exit_code < 0 else StopReason.INTERNAL_ERROR
        last = said.strip().rpartition("\n")[2]
        return Ended(code, reason.value, last or f"the process ended with {exit_code} and no result", seconds)
    # A commit that failed, or an output that could not be written, shows in the exit code alone.
    code = exit_code if exit_code > 0 else int(result.get("exit_code", LOST_CODE))
    reason, detail = str(result.get("reason")), str(result.get("detail"))
    return Ended(code, reason, detail, seconds, result, worked_by)
