"""When a failed request is sent again, and after what wait. Pure: no clock, no network.

A long prompt is never sent again blindly. Another try is made only where the server asks for one (429, 503), where it
is not there or not ready yet, or where sending is cheap: nothing was received, or the reply broke off and the prefix is
in the server's cache. Bounded, growing, with some jitter upwards, never sooner than the server asked.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus

from pool.wire.errors import ProblemKind, ServerProblem
from pool_tools.frozen import frozen

RETRY_AFTER_MAX_SECONDS = 600.0
"""A server that asks for a longer wait is asked again after this one."""

REFUSED_GAP_SECONDS = 5.0
"""Longest gap while nothing listens at the address: asking costs nothing there."""

LOADING_SECONDS = 120.0
"""How long a server that says that it is loading is waited for, at least."""

RESENDS = 2
"""How often a turn is sent again after a failure (5xx) or a broken connection."""

RESENDS_AFTER_SILENCE = 1
GROWTH = 2.0
JITTER = 0.2
"""Each wait is lengthened by up to this share, so that clients of one server do not come back together."""

MIN_LAST_GAP_SECONDS = 0.5
"""A last try at the end of the waiting time is worth while only if it is at least so far away."""


@frozen
class Retry:
    """Send the same turn again, after delay seconds. why is for people: what is waited for.

    number is which try that will be, from 2; most is how many there are at most, 0 where time is the limit.
    """

    delay: float
    why: str
    number: int = 0
    most: int = 0


@frozen
class RetryPolicy:
    """The limits.

    wait_server_seconds covers a server that is not there (refused, 502, 503) once it has answered before,
    first_contact_seconds the very first contact. max_attempts counts requests, the first included.
    """

    max_attempts: int = 10
    base_seconds: float = 1.0
    cap_seconds: float = 20.0
    wait_server_seconds: float = 60.0
    first_contact_seconds: float = 10.0

    def decide(
        self, problem: ServerProblem, attempt: int, elapsed: float, contacted_before: bool, rng: random.Random
    ) -> Retry | None:
        """What to do after problem; None: give up and show it.

        attempt counts the tries of this turn that ended in a problem of this kind, from 1. elapsed is in seconds since
        the first problem of this kind in this turn (not since the request: that may have taken long before it broke).
        contacted_before says that this server has answered anything since Pool started.
        """
        gap = self._gap(attempt, rng)
        match problem:
            case ServerProblem(kind=ProblemKind.REFUSED):
                patience = self.wait_server_seconds if contacted_before else self.first_contact_seconds
                gap = min(gap, REFUSED_GAP_SECONDS)
                return self._until(patience, elapsed, gap, attempt, "nothing listens at the server's address")
            case ServerProblem(kind=ProblemKind.UNREACHABLE) if contacted_before:
                return self._until(self.wait_server_seconds, elapsed, gap, attempt, "the server cannot be reached")
            case ServerProblem(kind=ProblemKind.LOADING) | ServerProblem(status=HTTPStatus.BAD_GATEWAY):
                return self._while_loading(problem, attempt, elapsed, gap)
            case ServerProblem(kind=ProblemKind.BUSY):
                return self._while_busy(problem, attempt, gap)
            case ServerProblem(kind=ProblemKind.DROPPED) if attempt <= RESENDS:
                return Retry(gap, "the connection broke", attempt + 1, RESENDS + 1)
            case ServerProblem(kind=ProblemKind.SERVER_ERROR) if attempt <= RESENDS:
                return Retry(gap, "the server failed", attempt + 1, RESENDS + 1)
            case ServerProblem(kind=ProblemKind.TIMEOUT, received=True) if attempt <= RESENDS_AFTER_SILENCE:
                why = "the server fell silent in the middle of a reply"
                return Retry(gap, why, attempt + 1, RESENDS_AFTER_SILENCE + 1)
            case _:
                return None

    def _gap(self, attempt: int, rng: random.Random) -> float:
        exponent = min(max(attempt, 1) - 1, 32)  # Far above every cap; keeps the power a number.
        gap = min(self.base_seconds * GROWTH**exponent, self.cap_seconds)
        return gap * (1.0 + JITTER * rng.random())

    def _until(self, limit: float, elapsed: float, gap: float, attempt: int, why: str) -> Retry | None:
        """Wait by time, not by count, with one last try right at the limit."""
        left = limit - elapsed
        if left < MIN_LAST_GAP_SECONDS:
            return None
        return Retry(min(gap, left), f"{why}; giving up in {left:.0f} s", attempt + 1)

    def _while_loading(self, problem: ServerProblem, attempt: int, elapsed: float, gap: float) -> Retry | None:
        """A server that is there and will be ready: at most max_attempts, unless the user asked for a longer wait."""
        if elapsed >= max(self.wait_server_seconds, LOADING_SECONDS):
            return None
        if attempt >= self.max_attempts and elapsed >= self.wait_server_seconds:
            return None
        loading = problem.kind is ProblemKind.LOADING
        why = "the server is loading the model" if loading else "the model server behind the gateway is not up"
        return Retry(max(gap, _asked(problem)), why, attempt + 1)

    def _while_busy(self, problem: ServerProblem, attempt: int, gap: float) -> Retry | None:
        if attempt >= self.max_attempts:
            return None
        if problem.retry_after is None:
            return Retry(gap, "the server is busy", attempt + 1, self.max_attempts)
        asked = _asked(problem)
        delay = asked + gap - min(gap, self.base_seconds)
        return Retry(delay, f"the server asked to wait {asked:.0f} s", attempt + 1, self.max_attempts)


def _asked(problem: ServerProblem) -> float:
    return min(problem.retry_after or 0.0, RETRY_AFTER_MAX_SECONDS)


class Attempts:
    """The bookkeeping for one turn: how often each kind of problem came, and since when. Make a new one per turn."""

    def __init__(
        self, policy: RetryPolicy, rng: random.Random | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._policy = policy
        self._rng = rng or random.Random()
        self._clock = clock
        self._counts = Counter[ProblemKind]()
        self._since: dict[ProblemKind, float] = {}

    def after(self, problem: ServerProblem, contacted_before: bool) -> Retry | None:
        """Note problem and say what to do; see `RetryPolicy.decide`."""
        now = self._clock()
        self._counts[problem.kind] += 1
        elapsed = now - self._since.setdefault(problem.kind, now)
        return self._policy.decide(problem, self._counts[problem.kind], elapsed, contacted_before, self._rng)
