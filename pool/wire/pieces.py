"""What of a body is there already is taken at once.

A server that sends each token in an HTTP chunk of its own, faster than it is read, leaves hundreds of chunks in one
read of the socket. To hand each on by itself costs more than to read what is in it, so they are joined. How a body is
cut means nothing to whoever reads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import types
from collections.abc import AsyncIterator, Generator
from typing import Any, cast

JOINED_BYTES = 16 * 1024
"""From here on pieces are handed on, so that a thought that runs away is seen in time: about 80 tokens of a stream."""


class Pieces:
    """Takes pieces from source, an asynchronous generator; joined where several are there."""

    def __init__(self, source: AsyncIterator[bytes]) -> None:
        self._source = source
        self._step: _Step | None = None
        self._end: Exception | None = None

    def ready(self) -> tuple[bytes, int]:
        """What can be had without waiting, joined, and of how many pieces it is; nothing of none: see `wait`."""
        found: list[bytes] = []
        size = 0
        while self._step is None and self._end is None and size < JOINED_BYTES:
            step = _Step(self._source)
            data = self._outcome(step)
            if step.waits:
                self._step = step
            elif data:
                found.append(data)
                size += len(data)
        return b"".join(found), len(found)

    async def wait(self) -> bytes:
        """The next piece. Raises what the source raises, `StopAsyncIteration` at its end."""
        if self._end is not None:
            raise self._end
        step, self._step = self._step or _Step(self._source), None
        return await step.rest()

    async def close(self) -> None:
        """Give up what `ready` has begun to wait for."""
        step, self._step = self._step, None
        if step is not None:
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await step.rest(asyncio.CancelledError())

    def _outcome(self, step: _Step) -> bytes:
        try:
            return step.begin()
        except Exception as error:  # told when what came before has been handed on
            self._end = error
            return b""


class _Step:
    """One `anext` of a source, of which a part may run before anybody waits for it. waits: it could not end at once."""

    def __init__(self, source: AsyncIterator[bytes]) -> None:
        self._steps: Generator[Any, Any, bytes] = anext(source).__await__()
        self._waiting: Any = None
        self.waits = False

    def begin(self) -> bytes:
        """Run until it ends or has to wait; then `waits` is set, and the result is empty."""
        try:
            self._waiting = next(self._steps)
        except StopIteration as end:
            return cast(bytes, end.value)
        self.waits = True
        return b""

    @types.coroutine
    def rest(self, failure: BaseException | None = None) -> Generator[Any, Any, bytes]:
        """Wait for the end, from where `begin` has come to; failure is raised there instead, if there is one."""
        if not self.waits:
            return (yield from self._steps)
        steps = self._steps
        try:
            waiting = self._waiting if failure is None else steps.throw(failure)
            while True:
                try:
                    sent = yield waiting
                except BaseException as error:
                    waiting = steps.throw(error)
                else:
                    waiting = steps.send(sent)
        except StopIteration as end:
            return cast(bytes, end.value)
