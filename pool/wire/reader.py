"""The reader: decoded chunks in, small reading events out, and a `Reading` at the end. Pure: no I/O, no clock.

It takes every chunk shape that servers are known to send (see `pool.wire.chunks`), keeps reasoning, content and calls
apart, and decides at the end how the reply ended and which of its calls may be run. The same model text gives the same
reading however it was cut into chunks. No JSON makes it raise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, cast

import orjson

from pool.events import Usage
from pool.messages import valid_text
from pool.wire.calls import CallAssembler
from pool.wire.chunks import Json, delta_of, fault_of, flat_text, usage_of
from pool.wire.content import ContentSplitter
from pool.wire.finish import settle
from pool.wire.jsontext import Mend
from pool.wire.reading import (
    REPLY_TOO_LONG,
    CallText,
    ContentText,
    Expectation,
    Reading,
    ReadingEvent,
    ReasoningText,
    ServerFault,
    UsageSoFar,
)
from pool.wire.reasoning import ReasoningFilter
from pool.wire.sse import DONE

REASONING_FIELDS = ("reasoning", "reasoning_content", "thinking")
"""Wire names of the reasoning channel, in the order in which they count if several are sent."""

MAX_DOCUMENTS = 65_536
"""Most JSON documents in one event that are read; a body that is an array of chunks has one for each token."""

UNDECODABLE = "undecodable-event"
"""The repair of a reply in which an event was no JSON."""

_HIGH_SURROGATE = re.compile("[\ud800-\udbff]\\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Reader:
    """Reads one reply. Feed payloads of event-stream data lines, then `close`."""

    def __init__(self, expect: Expectation) -> None:
        self._expect = expect
        self._content = ContentSplitter(expect.think_tags)
        self._reasoning = ReasoningFilter()
        self._room = expect.most_chars
        self._calls = CallAssembler(expect.most_chars)
        self._field = ""
        self._finish = ""
        self._stop = ""
        self._usage: Usage | None = None
        self._fault: ServerFault | None = None
        self._repairs: list[str] = []
        self._pending: dict[str, str] = {}
        self.id = ""
        """The server's id of the reply, "" until it came."""
        self._objects_due = False
        self._done = False
        self._spoken = False

    @property
    def done(self) -> bool:
        """Whether nothing more of the reply is read: `[DONE]` or an error has come, or it is too long."""
        return self._done or self._fault is not None

    @property
    def spoken(self) -> bool:
        """Whether anything has come that servers of this API send, an empty chunk too."""
        return self._spoken

    def cut(self) -> None:
        """Read no more: the reply is far longer than it was to be, and ends as if its limit had been kept."""
        self._done = True
        if REPLY_TOO_LONG not in self._repairs:
            self._repairs.append(REPLY_TOO_LONG)

    @property
    def started(self) -> bool:
        """Whether any text or call has arrived."""
        return bool(self._reasoning.parts or self._content.content or self._content.reasoning or self._calls.open)

    def feed(self, payloads: Iterable[bytes]) -> list[ReadingEvent]:
        """Read payloads (the values of `data:` lines, or JSON documents); adjacent text is merged."""
        events: list[ReadingEvent] = []
        if REPLY_TOO_LONG in self._repairs:
            return events
        for payload in payloads:
            if payload == DONE:
                self._done = self._spoken = True
                continue
            for chunk in self._decode(payload):
                self._spoken = True
                self._chunk(chunk, events)
            if self._room < 0 or self._calls.room < 0:
                self.cut()
                break
        return _merged(events)

    def close(self) -> tuple[list[ReadingEvent], Reading]:
        """The end of the body: what was held back, and the whole reading."""
        events: list[ReadingEvent] = []
        halves, self._pending = self._pending, {}
        for field, text in halves.items():
            self._text(field, valid_text(text), events)
        too_long = REPLY_TOO_LONG in self._repairs
        natural = self._finish in ("stop", "tool_calls", "eos", "") and not self._fault and not too_long
        events += self._content.close(apart=bool(self._field), natural=natural)
        calls, broken, mends = self._calls.finish()
        if self._objects_due:
            mends = tuple(m for m in mends if m != Mend.SENT_AS_OBJECT)
        reading, late = settle(
            Reading(
                reasoning="".join([*self._reasoning.parts, *self._content.reasoning]),
                content="".join(self._content.content),
                calls=calls,
                broken=broken,
                finish=self._finish,
                stop=self._stop,
                usage=self._usage,
                reasoning_field=self._field,
                fault=self._fault,
                repairs=tuple(dict.fromkeys([*self._repairs, *self._content.repairs, *mends])),
            ),
            self._expect,
            held=self._content.held,
            loose_call=self._content.loose_call,
        )
        if "call-in-reasoning" in reading.repairs:
            self._reasoning.drop_held()
        events += self._reasoning.feed("", final=True)
        if late:
            events.append(ContentText(late))
        return _merged(events), reading

    # -- chunks

    def _decode(self, payload: bytes) -> list[Json]:
        try:
            value = orjson.loads(payload)
        except (ValueError, RecursionError):
            value = self._decode_loosely(payload)
        if isinstance(value, dict):
            return [cast(Json, value)]
        if isinstance(value, list):
            return [cast(Json, v) for v in cast(list[Any], value)[:MAX_DOCUMENTS] if isinstance(v, dict)]
        return []

    def _decode_loosely(self, payload: bytes) -> Any:
        """What orjson refuses: lone surrogates, bytes that are no UTF-8, two documents in one event."""
        text = payload.decode("utf-8", "replace")
        try:
            return json.loads(text, strict=False)
        except RecursionError:
            self._undecodable()
            return None
        except ValueError:
            pass
        out: list[Any] = []
        for line in text.split("\n", MAX_DOCUMENTS)[:MAX_DOCUMENTS]:
            if line.strip() in ("", "[DONE]"):
                continue
            try:
                out.append(json.loads(line, strict=False))
            except (ValueError, RecursionError):
                self._undecodable()
        return out

    def _undecodable(self) -> None:
        if UNDECODABLE not in self._repairs:
            self._repairs.append(UNDECODABLE)

    def _chunk(self, chunk: Json, events: list[ReadingEvent]) -> None:
        if not self.id:
            name = chunk.get("id")
            self.id = valid_text(name) if isinstance(name, str) else ""
        error = chunk.get("error")
        if error:
            self._fault = self._fault or fault_of(error, chunk)
            return
        usage = usage_of(chunk)
        if usage is not None:
            self._usage = usage
        self._objects_due = self._objects_due or "message" in chunk
        delta, finish, stop = delta_of(chunk)
        if delta:
            self._delta(delta, events)
        if finish:
            self._finish = finish
        if stop:
            self._stop = stop
        if usage is not None and delta:
            events.append(UsageSoFar(usage))

    def _delta(self, delta: Json, events: list[ReadingEvent]) -> None:
        """One delta may hold reasoning, content and calls together; this is their order."""
        field, text = self._reasoning_in(delta)
        if text:
            self._field = self._field or field
            self._text(field, text, events)
        content = delta.get("content")
        if content:
            self._text("content", flat_text(content), events)
        calls = delta.get("tool_calls")
        if calls:
            events += self._calls.feed(calls)

    def _reasoning_in(self, delta: Json) -> tuple[str, str]:
        """A delta's reasoning; a server that sends it under two names sends the same text twice."""
        for field in (self._field, *REASONING_FIELDS) if self._field else REASONING_FIELDS:
            text = delta.get(field)
            if isinstance(text, str) and text:
                return field, text
        return "", ""

    def _text(self, field: str, text: str, events: list[ReadingEvent]) -> None:
        if self._pending or _SURROGATE.search(text):
            text = self._whole_characters(field, text)
        room, self._room = self._room, self._room - len(text)
        if self._room < 0:
            text = text[: max(0, room)]
        if not text:
            return
        if field == "content":
            events += self._content.feed(text, apart=bool(self._field))
        else:
            events += self._reasoning.feed(text)

    def _whole_characters(self, field: str, text: str) -> str:
        """Join surrogate pairs that were cut between two deltas."""
        text = self._pending.pop(field, "") + text
        if _HIGH_SURROGATE.search(text):
            self._pending[field] = text[-1]
            text = text[:-1]
        return valid_text(text)


def _merged(events: list[ReadingEvent]) -> list[ReadingEvent]:
    """Neighbouring text events joined, so that a burst of tokens is one event."""
    if len(events) < 2:
        return events
    out: list[ReadingEvent] = []
    run: list[str] = []
    kind: type[ContentText] | type[ReasoningText] | None = None

    def flush() -> None:
        if kind is not None and run:
            out.append(kind("".join(run)))
            run.clear()

    for event in events:
        if isinstance(event, (ContentText, ReasoningText)):
            if type(event) is not kind:
                flush()
                kind = type(event)
            run.append(event.text)
            continue
        flush()
        kind = None
        if out and isinstance(event, (CallText, UsageSoFar)) and type(out[-1]) is type(event):
            previous = out[-1]
            same = not isinstance(event, CallText) or (isinstance(previous, CallText) and previous.index == event.index)
            if same:
                out[-1] = event
                continue
        out.append(event)
    flush()
    return out


__all__ = ["REASONING_FIELDS", "Reader"]
