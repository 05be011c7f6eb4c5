"""Waits between tries are scaled down: how often and in what order things are tried is the same, the gaps are not."""

from __future__ import annotations

from functools import partial

import pytest

from pool.wire.retry import RetryPolicy

QUICK_BASE_SECONDS = 0.02
QUICK_CAP_SECONDS = 0.1


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = partial(RetryPolicy, base_seconds=QUICK_BASE_SECONDS, cap_seconds=QUICK_CAP_SECONDS)
    monkeypatch.setattr("pool.agent.server.RetryPolicy", quick)
