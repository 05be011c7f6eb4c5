"""Where events go: stamped, logged first, then handed to every face that listens.

A face that is slow or gone never stalls the run: each subscriber has a queue of its own, and while it lags,
neighbouring deltas of one kind are joined, so that the queue grows with the text and not with the number of tokens.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace

from pool.events import Body, CallOutput, ContentDelta, Envelope, Event, ReasoningDelta
from pool.ports import EventLog
from pool_tools.masking import NO_MASK

_JOINED = (ReasoningDelta, ContentDelta, CallOutput)


class _Subscriber:
    def __init__(self) -> None:
        self.queue: deque[Event | None] = deque()
        self.wake = asyncio.Event()

    def put(self, event: Event | None) -> None:
        last = self.queue[-1] if self.queue else None
        if event is not None and last is not None and isinstance(event.body, _JOINED):
            body = last.body
            if type(body) is type(event.body) and last.envelope.call == event.envelope.call:
                assert isinstance(body, _JOINED)
                self.queue[-1] = Event(event.envelope, replace(body, text=body.text + event.body.text))
                return
        self.queue.append(event)
        self.wake.set()


class EventHub:
    """Stamps bodies into events of one session and fans them out."""

    def __init__(self, session: str, log: EventLog | None = None, agent: str = "", next_seq: int = 0) -> None:
        """next_seq is above every number that the session has used before."""
        self.session = session
        self.run = ""
        self.turn = 0
        self.mask = NO_MASK
        """What no event may hold: secrets, which the log and the faces get as their names."""
        self._agent = agent
        self._log = log
        self._seq = next_seq
        self._durable: list[Event] = []
        self._subscribers: list[_Subscriber] = []

    def emit(self, body: Body, call: str = "") -> Event:
        """Stamp, log (durable kinds) and deliver. When it returns, a durable event is on disk."""
        if self.mask:
            body = self.mask.within(body)
        envelope = Envelope(
            self.session, self.run, self.turn, self._seq, time.time(), time.monotonic(), self._agent, call
        )
        event = Event(envelope, body)
        self._seq += 1
        if not body.transient:
            if self._log is not None:
                self._log.append(event)
            self._durable.append(event)
        for subscriber in self._subscribers:
            subscriber.put(event)
        return event

    def so_far(self) -> tuple[Event, ...]:
        """The durable events that were emitted here, in order; those of an earlier process are in the log only."""
        return tuple(self._durable)

    def subscribe(self, after: int = -1, gather: float = 0.0) -> AsyncIterator[Event]:
        """Durable events with seq above after, then everything as it happens, until `close`.

        The subscription begins with this call, not with the first `anext`. Whoever draws lets events gather for some
        seconds: the run then gets to its next request before anything is drawn.
        """
        subscriber = _Subscriber()
        for event in self._durable:
            if event.envelope.seq > after:
                subscriber.put(event)
        self._subscribers.append(subscriber)
        return self._events(subscriber, gather)

    async def _events(self, subscriber: _Subscriber, gather: float) -> AsyncIterator[Event]:
        try:
            while True:
                while subscriber.queue:
                    event = subscriber.queue.popleft()
                    if event is None:
                        return
                    yield event
                subscriber.wake.clear()
                await subscriber.wake.wait()
                if gather:
                    await asyncio.sleep(gather)
        finally:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

    @property
    def last_durable(self) -> int:
        """The number of the last event that is kept, -1 if there is none yet."""
        return self._durable[-1].envelope.seq if self._durable else -1

    def close(self) -> None:
        """End every subscription after what is already queued."""
        for subscriber in self._subscribers:
            subscriber.put(None)
            subscriber.wake.set()
