"""One request to the server, and its reply both as it came and as Pool reads it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pool.messages import encode_json
from pool.wire.dialects import for_address
from pool.wire.errors import ProblemKind, ServerProblem, classify_fault
from pool.wire.reader import REASONING_FIELDS, Reader
from pool.wire.reading import Ending, Expectation, Reading
from pool.wire.sse import DONE, SseDecoder
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

Json = Mapping[str, Any]
STREAMS = ("text/event-stream", "ndjson")
"""What the content type of a stream holds; Ollama's own API sends lines of JSON."""

_BROKEN = frozenset({Ending.DROPPED, Ending.SERVER_ERROR, Ending.ABORTED})


@frozen
class Reply:
    """A reply. `reading` is Pool's view of it; the rest is what the wire said, mended in no way.

    content is the content channel; reasoning maps each field in which thoughts came to its text. called: structured
    calls came. cached is the number of prompt tokens from the cache, None if the server does not tell. done: the stream
    ended with `[DONE]`, or as its API ends. streamed: it came as a stream. first and seconds are the times to the first
    event and to the end, since the request was sent. prompt_text is the rendered prompt, "" if it was not sent.
    """

    reading: Reading
    content: str = ""
    reasoning: Mapping[str, str] = field(default_factory=dict[str, str])
    called: bool = False
    cached: int | None = None
    done: bool = False
    streamed: bool = False
    first: float = 0.0
    seconds: float = 0.0
    prompt_text: str = ""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt as the server counted them, 0 if it did not tell."""
        return self.reading.usage.prompt if self.reading.usage else 0

    @property
    def written_tokens(self) -> int:
        """Tokens of the reply as the server counted them, 0 if it did not tell."""
        return self.reading.usage.completion if self.reading.usage else 0


@dataclass(slots=True)
class _Wire:
    """Gathers what the payloads of one reply say."""

    content: list[str] = field(default_factory=list[str])
    reasoning: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    called: bool = False
    cached: int | None = None
    done: bool = False
    events: int = 0
    prompt_text: str = ""

    def take(self, payload: bytes) -> None:
        if payload == DONE:
            self.done = True
            return
        self.events += 1
        try:
            chunk = _object(json.loads(payload))
        except (ValueError, RecursionError):
            return
        cached = _cached(chunk)
        self.cached = self.cached if cached is None else cached
        self.prompt_text = _text(chunk.get("prompt_text")) or self.prompt_text
        self.done = self.done or chunk.get("done") is True
        delta = _delta(chunk)
        self.content.append(_text(delta.get("content")))
        self.called = self.called or bool(delta.get("tool_calls"))
        for name in REASONING_FIELDS:
            if text := _text(delta.get(name)):
                self.reasoning.setdefault(name, []).append(text)


async def exchange(
    transport: Transport, body: bytes, expect: Expectation, limit_seconds: float, *, stream: bool = True
) -> Reply:
    """Send a chat request once and read its reply to the end.

    Raises `ServerProblem`: as the transport does, for an error object in the reply, for a reply that broke off
    (DROPPED), and TIMEOUT if the end has not come after limit_seconds.
    """
    wire, reader, decoder = _Wire(), Reader(expect), SseDecoder()
    path = for_address(transport.endpoint.base_url).shape.path
    begun, first, streamed = time.monotonic(), 0.0, False
    try:
        async with asyncio.timeout(limit_seconds), transport.open(path, body, stream) as response:
            kind = response.headers.get("content-type", "").lower()
            streamed = any(name in kind for name in STREAMS)
            async for data in response.aiter_raw():
                payloads = decoder.feed(data)
                first = first or (time.monotonic() - begun if payloads else 0.0)
                _read(payloads, wire, reader)
    except TimeoutError:
        raise _out_of_time(limit_seconds, wire.events) from None
    _read(decoder.close(), wire, reader)
    seconds = time.monotonic() - begun
    _, reading = reader.close()
    if reading.fault is not None:
        raise classify_fault(reading.fault, transport.endpoint, received=reader.started)
    if reading.ending in _BROKEN:
        raise _broken(reading, wire.events)
    return Reply(
        reading=reading,
        content="".join(wire.content),
        reasoning={name: "".join(parts) for name, parts in wire.reasoning.items()},
        called=wire.called,
        cached=wire.cached,
        done=wire.done,
        streamed=streamed,
        first=first or seconds,
        seconds=seconds,
        prompt_text=wire.prompt_text,
    )


def duration(seconds: float) -> str:
    """`12 ms`, `3.4 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def whole_body(body: bytes) -> bytes:
    """The same request without streaming."""
    fields = json.loads(body)
    fields.pop("stream_options", None)
    fields["stream"] = False
    return encode_json(fields)


def without(body: bytes, names: Collection[str]) -> bytes:
    """The same request without the fields of these names."""
    return encode_json({name: value for name, value in json.loads(body).items() if name not in names})


def _read(payloads: list[bytes], wire: _Wire, reader: Reader) -> None:
    for payload in payloads:
        wire.take(payload)
    reader.feed(payloads)


def _out_of_time(limit_seconds: float, events: int) -> ServerProblem:
    came = f"{events} pieces of it had come" if events else "nothing of it had come"
    return ServerProblem(
        ProblemKind.TIMEOUT,
        f"the reply was not complete after {limit_seconds:g} s; {came}",
        "the server may be busy with others, loading, or slow; --timeout gives it longer",
        received=events > 0,
    )


def _broken(reading: Reading, events: int) -> ServerProblem:
    if not events:
        return ServerProblem(ProblemKind.DROPPED, "the reply held no data", "see the server's log")
    if reading.ending is Ending.DROPPED:
        message = "the reply broke off: it ended without a finish reason"
    else:
        message = f"the server ended the reply with {reading.finish!r}"
    return ServerProblem(ProblemKind.DROPPED, message, "see the server's log", received=True)


def _delta(chunk: Json) -> Json:
    """The piece of the reply: in the first choice, or by itself in Ollama's own API."""
    choices = chunk.get("choices")
    if not isinstance(choices, list) or not choices:
        return _object(chunk.get("message"))
    choice = _object(cast(list[Any], choices)[0])
    return _object(choice.get("delta") or choice.get("message"))


def _cached(chunk: Json) -> int | None:
    """Cached tokens as vLLM and OpenAI tell them, as some gateways, llama.cpp's timings, or Ollama's own API do."""
    usage = _object(chunk.get("usage"))
    told = (
        _object(usage.get("prompt_tokens_details")).get("cached_tokens"),
        usage.get("cached_tokens"),
        _object(chunk.get("timings")).get("cache_n"),
        chunk.get("prompt_eval_cached_count"),
    )
    return next((n for n in told if isinstance(n, int) and not isinstance(n, bool)), None)


def _object(value: Any) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
