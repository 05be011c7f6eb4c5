"""One measured request: sent, read to its end, and every arrival noted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pool.lab.bench.timeline import Counts, Mark, Sample, sample
from pool.wire.chunks import delta_of, flat_text, usage_of
from pool.wire.errors import ProblemKind, ServerProblem, classify_fault
from pool.wire.reader import REASONING_FIELDS, Reader
from pool.wire.reading import Ending, Expectation
from pool.wire.sse import DONE, SseDecoder
from pool.wire.transport import Transport

_BROKEN = frozenset({Ending.DROPPED, Ending.SERVER_ERROR, Ending.ABORTED})


@dataclass(slots=True)
class Recorder:
    """Payloads of one reply in, marks and counts out."""

    marks: list[Mark] = field(default_factory=list[Mark])
    counts: Counts = field(default_factory=Counts)
    finish: str = ""
    server_rate: float | None = None

    def take(self, payload: bytes, at: float) -> None:
        """Note a payload that came at seconds after sending."""
        if payload == DONE:
            return
        try:
            value: Any = json.loads(payload)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        chunk = cast(Mapping[str, Any], value)
        delta, finish, _ = delta_of(chunk)
        self.finish = finish or self.finish
        usage = usage_of(chunk)
        if usage is not None:
            told = _tells_cached(chunk)
            self.counts = Counts(
                usage.prompt or self.counts.prompt,
                usage.cached if told else self.counts.cached,
                max(usage.completion, self.counts.written),
            )
        timings = _object(chunk.get("timings"))
        running = usage.completion if usage is not None and chunk.get("choices") else _number(timings, "predicted_n")
        rate = timings.get("predicted_per_second")
        self.server_rate = float(rate) if isinstance(rate, (int, float)) else self.server_rate
        answer, thought = _answer_chars(delta), _thought_chars(delta)
        if answer or thought or running:
            self.marks.append(Mark(at, answer + thought, answer > 0, running))

    def sample(self, began: float) -> Sample:
        """The reply's figures."""
        counts = self.counts
        last = max((mark.tokens or 0 for mark in self.marks), default=0)
        if last > counts.written:
            counts = Counts(counts.prompt, counts.cached, last)
        return sample(self.marks, counts, began=began, finish=self.finish, server_rate=self.server_rate)


async def measured(transport: Transport, path: str, body: bytes, limit_seconds: float) -> Sample:
    """Send a streaming request once and measure its reply.

    Raises `ServerProblem`: as the transport does, for an error in the stream, a reply that broke off, and TIMEOUT if
    the end has not come after limit_seconds.
    """
    clock = asyncio.get_running_loop().time
    recorder, decoder = Recorder(), SseDecoder()
    reader = Reader(Expectation(tools={}))
    began = clock()
    try:
        async with asyncio.timeout(limit_seconds), transport.open(path, body) as response:
            async for data in response.aiter_raw():
                at = clock() - began
                _read(decoder.feed(data), at, recorder, reader)
    except TimeoutError:
        words = f"the reply was not complete after {limit_seconds:g} s ({len(recorder.marks)} pieces had come)"
        raise ServerProblem(ProblemKind.TIMEOUT, words, "--timeout gives it longer") from None
    _read(decoder.close(), clock() - began, recorder, reader)
    reading = reader.close()[1]
    if reading.fault is not None:
        raise classify_fault(reading.fault, transport.endpoint, received=reader.started)
    if reading.ending in _BROKEN:
        raise ServerProblem(
            ProblemKind.DROPPED, f"the reply broke off ({reading.ending.value})", "see the server's log"
        )
    return recorder.sample(began)


def _read(payloads: list[bytes], at: float, recorder: Recorder, reader: Reader) -> None:
    for payload in payloads:
        recorder.take(payload, at)
    reader.feed(payloads)


def _answer_chars(delta: Mapping[str, Any]) -> int:
    calls = delta.get("tool_calls")
    listed = cast(list[Any], calls) if isinstance(calls, list) else []
    functions = [_object(_object(call).get("function")) for call in listed]
    written = sum(len(str(f.get("name") or "")) + len(str(f.get("arguments") or "")) for f in functions)
    return len(flat_text(delta.get("content"))) + written


def _thought_chars(delta: Mapping[str, Any]) -> int:
    return next((len(text) for name in REASONING_FIELDS if isinstance(text := delta.get(name), str) and text), 0)


def _tells_cached(chunk: Mapping[str, Any]) -> bool:
    usage = _object(chunk.get("usage"))
    details = _object(usage.get("prompt_tokens_details"))
    told = (details.get("cached_tokens"), usage.get("cached_tokens"), _object(chunk.get("timings")).get("cache_n"))
    return any(isinstance(number, int) for number in told)


def _number(values: Mapping[str, Any], name: str) -> int | None:
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}
