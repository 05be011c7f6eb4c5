"""Waiting for what an app under test will come to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

COMES_SECONDS = 30.0


async def until(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    """Wait for a condition. A key goes through several queues: it may not be done when `press` returns."""
    end = time.monotonic() + COMES_SECONDS
    while not holds() and time.monotonic() < end:
        await pilot.pause(0.01)
    assert holds()
