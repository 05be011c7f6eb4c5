from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.retry import (
    JITTER,
    REFUSED_GAP_SECONDS,
    RETRY_AFTER_MAX_SECONDS,
    Attempts,
    Retry,
    RetryPolicy,
)

POLICY = RetryPolicy()
RECEIVED = ServerProblem(ProblemKind.DROPPED, "x", received=True)
ENOUGH_TRIES = 10_000


def play(
    problem: ServerProblem, *, ready_after: float = float("inf"), contacted: bool = False, policy: RetryPolicy = POLICY
) -> list[float]:
    """The moments of all requests of a turn whose every try fails with problem until ready_after."""
    now = 0.0
    attempts = Attempts(policy, random.Random(7), lambda: now)
    moments = [now]
    while now < ready_after and len(moments) < ENOUGH_TRIES:
        retry = attempts.after(problem, contacted)
        if retry is None:
            break
        now += retry.delay
        moments.append(now)
    return moments


def gaps(moments: list[float]) -> list[float]:
    return [b - a for a, b in itertools.pairwise(moments)]


@pytest.mark.parametrize("contacted", [True, False])
def test_ninety_seconds_of_loading_are_sat_out_in_ten_tries(contacted: bool) -> None:
    moments = play(ServerProblem(ProblemKind.LOADING, "x", status=503), ready_after=90, contacted=contacted)
    assert moments[-1] >= 90
    assert len(moments) <= 10
    assert gaps(moments)[-1] > gaps(moments)[0]


def test_loading_that_never_ends_is_given_up() -> None:
    moments = play(ServerProblem(ProblemKind.LOADING, "loading", status=503))
    assert len(moments) == 10
    assert 90 < moments[-1] < 200


def test_a_user_who_wants_to_wait_longer_may() -> None:
    patient = RetryPolicy(wait_server_seconds=900)
    for problem in (ServerProblem(ProblemKind.LOADING, "x", status=503), ServerProblem(ProblemKind.REFUSED, "x")):
        moments = play(problem, ready_after=800, contacted=True, policy=patient)
        assert moments[-1] >= 800
        assert max(gaps(moments)) <= patient.cap_seconds * (1 + JITTER)


@pytest.mark.parametrize(("contacted", "limit"), [(True, 60.0), (False, 10.0)])
def test_refused_connections_are_tried_until_the_limit_and_right_at_it(contacted: bool, limit: float) -> None:
    moments = play(ServerProblem(ProblemKind.REFUSED, "x"), contacted=contacted)
    assert moments[-1] == pytest.approx(limit, abs=0.5)
    assert max(gaps(moments)) < REFUSED_GAP_SECONDS + 0.001


def test_no_waiting_if_it_is_switched_off() -> None:
    impatient = RetryPolicy(wait_server_seconds=0, first_contact_seconds=0)
    for contacted in (True, False):
        assert play(ServerProblem(ProblemKind.REFUSED, "x"), contacted=contacted, policy=impatient) == [0.0]


def test_an_unknown_host_is_only_waited_for_if_it_has_answered_before() -> None:
    problem = ServerProblem(ProblemKind.UNREACHABLE, "no such host")
    assert play(problem, contacted=False) == [0.0]
    assert play(problem, contacted=True)[-1] == pytest.approx(60, abs=0.5)


@pytest.mark.parametrize("asked", [0.0, 7.0, 45.0])
def test_never_sooner_than_the_server_asked(asked: float) -> None:
    for kind, status in ((ProblemKind.BUSY, 429), (ProblemKind.LOADING, 503)):
        problem = ServerProblem(kind, "x", status=status, retry_after=asked)
        for attempt in range(1, 5):
            retry = POLICY.decide(problem, attempt, 0.0, True, random.Random(attempt))
            assert retry is not None
            assert retry.delay >= asked


def test_a_wait_of_hours_is_capped() -> None:
    retry = POLICY.decide(ServerProblem(ProblemKind.BUSY, "x", retry_after=86_400), 1, 0, True, random.Random(1))
    assert retry is not None
    assert RETRY_AFTER_MAX_SECONDS <= retry.delay <= RETRY_AFTER_MAX_SECONDS * (1 + JITTER)


def test_busy_for_ever_is_given_up() -> None:
    for hint in (None, 1.0):
        moments = play(ServerProblem(ProblemKind.BUSY, "x", status=429, retry_after=hint))
        assert len(moments) == POLICY.max_attempts


@pytest.mark.parametrize(
    ("problem", "requests"),
    [
        (ServerProblem(ProblemKind.SERVER_ERROR, "engine exploded", status=500), 3),
        (ServerProblem(ProblemKind.SERVER_ERROR, "engine stopped", status=500, received=True), 3),
        (ServerProblem(ProblemKind.DROPPED, "x"), 3),
        (RECEIVED, 3),
        (ServerProblem(ProblemKind.TIMEOUT, "idle", received=True), 2),
        (ServerProblem(ProblemKind.TIMEOUT, "gateway", status=504), 1),
        (ServerProblem(ProblemKind.BAD_REQUEST, "x", status=400), 1),
        (ServerProblem(ProblemKind.BAD_REQUEST, "Failed to parse tool call arguments as JSON", status=500), 1),
        (ServerProblem(ProblemKind.BAD_REQUEST, "x", status=422), 1),
        (ServerProblem(ProblemKind.OVERFLOW, "x", status=400), 1),
        (ServerProblem(ProblemKind.OVERFLOW, "no user query found in messages", status=500), 1),
        (ServerProblem(ProblemKind.UNAUTHORIZED, "x", status=401), 1),
        (ServerProblem(ProblemKind.NOT_FOUND, "x", status=404), 1),
        (ServerProblem(ProblemKind.MODEL_NOT_FOUND, "x", status=404), 1),
        (ServerProblem(ProblemKind.NOT_A_SERVER, "x", status=200), 1),
    ],
)
def test_how_often_each_is_sent(problem: ServerProblem, requests: int) -> None:
    for contacted in (True, False):
        moments = play(problem, contacted=contacted)
        assert len(moments) == requests
        assert gaps(moments) == sorted(gaps(moments))


def test_a_gateway_whose_server_is_away_is_waited_for() -> None:
    moments = play(ServerProblem(ProblemKind.SERVER_ERROR, "Bad Gateway", status=502), ready_after=60, contacted=True)
    assert moments[-1] >= 60


def test_a_restart_in_the_middle_of_a_reply_is_survived() -> None:
    """The reply breaks off, the server is gone for 50 s, then loads for 80, then answers."""
    now = 0.0
    attempts = Attempts(POLICY, random.Random(3), lambda: now)
    first = attempts.after(RECEIVED, True)
    while now < 130:
        gone = now < 50
        problem = ServerProblem(ProblemKind.REFUSED if gone else ProblemKind.LOADING, "x", status=0 if gone else 503)
        retry = first or attempts.after(problem, True)
        assert retry is not None, now
        now, first = now + retry.delay, None


@given(
    st.sampled_from(list(ProblemKind)),
    st.integers(0, 599),
    st.integers(1, 10**6),
    st.floats(0, 1e6),
    st.booleans(),
    st.booleans(),
    st.none() | st.floats(0, 1e9),
    st.integers(),
)
def test_waits_are_always_sane(
    kind: ProblemKind,
    status: int,
    attempt: int,
    elapsed: float,
    contacted: bool,
    received: bool,
    hint: float | None,
    seed: int,
) -> None:
    problem = ServerProblem(kind, "x", status=status, retry_after=hint, received=received)
    retry = POLICY.decide(problem, attempt, elapsed, contacted, random.Random(seed))
    if retry is None:
        return
    assert 0 < retry.delay <= RETRY_AFTER_MAX_SECONDS + POLICY.cap_seconds * (1 + JITTER)
    assert retry.why
    assert isinstance(retry, Retry)
    assert kind not in (ProblemKind.BAD_REQUEST, ProblemKind.OVERFLOW, ProblemKind.UNAUTHORIZED) or status == 502
