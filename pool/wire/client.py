"""A chat client: one request in, reading events out, with the retries that make sense and no others.

A reply that broke off is dropped and the same request sent again (its prompt is in the server's cache by then); the
face is told by `Restarted` so that it takes back what it showed. Cancelling the task closes the socket.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace

from pool.events import plain
from pool.wire.dialects import for_address
from pool.wire.endpoint import redact
from pool.wire.error_body import shorten
from pool.wire.errors import ProblemKind, ServerProblem, classify_fault
from pool.wire.reader import UNDECODABLE, Reader
from pool.wire.reading import Ending, Expectation, Reading, ReadingEvent
from pool.wire.request import OPENAI
from pool.wire.retry import Attempts, RetryPolicy
from pool.wire.sse import SseDecoder, is_foreign
from pool.wire.trace import ReplyTrace, TraceWriter
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

CHAT_PATH = OPENAI.path

AFTER_DONE_SECONDS = 1.0
"""How long the end of a body is waited for once `[DONE]` has come; read to its end, a connection can be kept."""


AFTER_DONE_BYTES = 1 << 20
"""How much of it is read at most: a server that goes on talking is cut off."""

MOST_BODY_BYTES = 1 << 30
"""Bytes of a body after which no end is expected any more; the wire needs some hundred for each token."""

HEAD_BYTES = 240
EXCERPT_CHARS = 60
"""How much of a body that is no reply is looked at and shown."""


@frozen
class Pause:
    """Nothing is being received: state, number and most as in `events.Waiting`; seconds until the next try."""

    state: str
    detail: str
    seconds: float = 0.0
    number: int = 0
    most: int = 0


@frozen
class Restarted:
    """The reply so far is void; it is asked for again."""

    why: str


ClientEvent = ReadingEvent | Pause | Restarted


class ChatClient:
    """Talks to one server. `reading` is the last whole reply; `contacted` says that the server has answered before."""

    def __init__(
        self,
        transport: Transport,
        policy: RetryPolicy,
        *,
        trace: TraceWriter | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.transport = transport
        self.reading = Reading()
        self.contacted = False
        self._reader = Reader(Expectation(tools={}))
        self._path = for_address(transport.endpoint.base_url).shape.path
        self._policy = policy
        self._trace = trace
        self._rng = rng or random.Random()

    async def converse(self, body: bytes, expect: Expectation) -> AsyncGenerator[ClientEvent]:
        """Send a request and read its reply into `reading`. Raises `ServerProblem` when trying again is no use.

        Close the generator (`aclose`) to stop a reply; `stopped` then reads what had come.
        """
        attempts = Attempts(self._policy, self._rng)
        while True:
            shown = False
            try:
                # Closed here and not whenever the collector comes by: closing is what frees the server.
                async with aclosing(self._attempt(body, expect)) as events:
                    async for event in events:
                        shown = True
                        yield event
                return
            except ServerProblem as problem:
                self.contacted = self.contacted or bool(problem.status) or problem.received
                retry = attempts.after(problem, self.contacted)
                if retry is None:
                    raise
                if shown:
                    yield Restarted(str(problem))
                detail = f"{problem.message}; {retry.why}"
                yield Pause(_state_of(problem), detail, retry.delay, retry.number, retry.most)
                await asyncio.sleep(retry.delay)

    async def _attempt(self, body: bytes, expect: Expectation) -> AsyncGenerator[ReadingEvent]:
        record = self._trace.request(self.transport.endpoint.url(self._path), body) if self._trace else None
        reader = self._reader = Reader(expect)
        try:
            async with aclosing(self._read(body, reader, record)) as events:
                async for event in events:
                    yield event
        except ServerProblem as problem:
            if record:
                record.end({"problem": str(problem)})
            raise

    async def _read(self, body: bytes, reader: Reader, record: ReplyTrace | None) -> AsyncGenerator[ReadingEvent]:
        decoder = SseDecoder()
        received, head = 0, b""
        async with self.transport.open(self._path, body) as response:
            self.contacted = True
            if record:
                record.status(response.status, response.headers)
            async with aclosing(response.aiter_raw()) as pieces:
                async for data in pieces:
                    received += len(data)
                    head += data[: HEAD_BYTES - len(head)]
                    if record:
                        record.chunk(data)
                    for event in reader.feed(decoder.feed(data)):
                        yield event
                    if received > MOST_BODY_BYTES:
                        reader.cut()
                    if reader.done:
                        await _drain(pieces)
                        break
        for event in reader.feed(decoder.close()):
            yield event
        late, reading = reader.close()
        self._refuse_broken(reading, head, started=reader.started, spoken=reader.spoken)
        if record:
            record.end(plain(reading))
        for event in late:
            yield event
        self.reading = reading

    @property
    def reply_id(self) -> str:
        """The server's id of the reply that is being read, "" if it gave none."""
        return self._reader.id

    def stopped(self, why: str) -> Reading:
        """The reading of a reply that was stopped: what had come of it, no calls. why is added to its repairs."""
        reading = self._reader.close()[1]
        self.reading = replace(reading, ending=Ending.STOPPED, calls=(), broken=(), repairs=(*reading.repairs, why))
        return self.reading

    @property
    def trace_failure(self) -> str:
        """Why no trace is written although one was asked for, "" if all is well."""
        return self._trace.failure if self._trace else ""

    def _refuse_broken(self, reading: Reading, head: bytes, *, started: bool, spoken: bool) -> None:
        """Raise for a reply that the server or the connection broke. head is the beginning of its body."""
        if reading.fault is not None:
            raise classify_fault(reading.fault, self.transport.endpoint, received=started)
        match reading.ending:
            case Ending.SERVER_ERROR | Ending.ABORTED:
                message = f"the server ended the reply with {reading.finish!r}"
                raise ServerProblem(ProblemKind.SERVER_ERROR, message, "see the server's log", received=started)
            case Ending.DROPPED if started:
                message = "the reply broke off: it ended without a finish reason"
                raise ServerProblem(ProblemKind.DROPPED, message, "see the server's log", received=True)
            case Ending.DROPPED if not spoken and (is_foreign(head) or UNDECODABLE in reading.repairs):
                text = shorten(redact(head.decode("utf-8", "replace"), self.transport.endpoint))
                message = f"what came was no event stream; it begins with {text[:EXCERPT_CHARS]!r}"
                remedy = f"check the address {self.transport.endpoint.display}, and what a gateway before it answers"
                raise ServerProblem(ProblemKind.NOT_A_SERVER, message, remedy, received=True)
            case Ending.DROPPED:
                message = "the server sent no data" if head else "the server sent an empty body"
                if reading.finish:
                    message = f"the server ended the reply with {reading.finish!r} and generated nothing"
                raise ServerProblem(ProblemKind.DROPPED, message, "see the server's log", received=False)
            case _:
                pass


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what is left of a body that has said all: nothing, as a rule. How it ends no longer matters."""
    left = AFTER_DONE_BYTES
    with suppress(ServerProblem, TimeoutError):
        async with asyncio.timeout(AFTER_DONE_SECONDS):
            async for data in pieces:
                left -= len(data)
                if left < 0:
                    return


def _state_of(problem: ServerProblem) -> str:
    match problem.kind:
        case ProblemKind.LOADING:
            return "loading"
        case ProblemKind.REFUSED | ProblemKind.UNREACHABLE:
            return "connecting"
        case ProblemKind.BUSY:
            return "queued"
        case _:
            return "retry"
