"""Blocking file work off the event loop, cancelled cleanly."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Cancelled(Exception):
    """The call was cancelled before its commit point: nothing was changed."""


class CancelFlag:
    """Set when the awaiting task was cancelled. Work looks at it right before its commit point."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if it is set."""
        if self._event.is_set():
            raise Cancelled


async def run_blocking(work: Callable[Concatenate[CancelFlag, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run work(flag, ...) in a thread.

    On cancellation the flag is set and the thread awaited before `CancelledError` goes on, so that nothing happens
    after the caller has moved on.
    """
    flag = CancelFlag()
    task = asyncio.ensure_future(asyncio.to_thread(work, flag, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        flag.set()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()
        raise
