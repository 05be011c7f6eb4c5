"""Comparing two folders of recordings: which cases would Pool read differently?

Only meaning counts: ids, times, texts of random tokens and how the text was cut into chunks do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pool.wire.reader import Reader
from pool.wire.reading import Expectation, Reading
from pool.wire.sse import SseDecoder
from tests.realserver.vllm.serving import WINDOW_TOKENS

_SHOWN_CHARS = 160
_VOLATILE = frozenset({"id", "created", "system_fingerprint", "version", "root", "count", "tokens", "token_strs"})
_TOKEN_COUNTS = frozenset({"prompt_tokens", "total_tokens", "completion_tokens"})

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact of a case that is not the same; values are shortened for show."""

    case: str
    fact: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.case}: {self.fact}\n  - {self.old}\n  + {self.new}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two folders. common counts the cases that both have.

    Fields are paths such as `stream choices.delta.reasoning` that occur in one folder only, over all common cases;
    only_old and only_new are cases that one folder alone has, which is no difference.
    """

    differences: tuple[Difference, ...]
    common: int
    gone_fields: tuple[str, ...]
    new_fields: tuple[str, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases that differ."""
        return tuple(dict.fromkeys(difference.case for difference in self.differences))


def compare(old: Path, new: Path) -> Comparison:
    """Compare two folders of recordings. Raises ValueError for one that holds none."""
    before, after = _cases(old), _cases(new)
    common = sorted(before.keys() & after.keys())
    differences: list[Difference] = []
    for name in common:
        differences += _differences(name, facts(before[name]), facts(after[name]))
    fields_before = {field for name in common for field in fields(before[name])}
    fields_after = {field for name in common for field in fields(after[name])}
    return Comparison(
        tuple(differences),
        len(common),
        tuple(sorted(fields_before - fields_after)),
        tuple(sorted(fields_after - fields_before)),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(after.keys() - before.keys())),
    )


def _cases(folder: Path) -> dict[str, Path]:
    found = {p.parent.name: p.parent for p in folder.glob("*/request.json")}
    if not found:
        raise ValueError(f"{folder} holds no recorded cases (folders with a request.json)")
    return found


def _differences(case: str, old: Facts, new: Facts) -> Iterator[Difference]:
    for fact in sorted(old.keys() | new.keys()):
        before, after = old.get(fact, "(nothing)"), new.get(fact, "(nothing)")
        if before != after:
            yield Difference(case, fact, _short(before), _short(after))


def facts(case: Path) -> Facts:
    """What a recorded case says, by name: of the stream as Pool reads it, of whole bodies and answers as they are."""
    out: Facts = {}
    if (case / "stream.sse").exists():
        out |= _of_reading(_read(_expectation(case), (case / "stream.sse").read_bytes()))
    if (case / "whole.json").exists():
        out |= _of_whole(json.loads((case / "whole.json").read_bytes()))
    if (case / "response.json").exists():
        out["answer: status"] = json.loads((case / "response.json").read_bytes())["status"]
        out["answer: body"] = _steady((case / "response.body").read_bytes())
    return out


def fields(case: Path) -> set[str]:
    """The names of all fields that a recorded case has in its stream and its whole body."""
    found: set[str] = set()
    if (case / "stream.sse").exists():
        for payload in _payloads((case / "stream.sse").read_bytes()):
            found |= {f"stream {name}" for name in _fields(payload)}
    if (case / "whole.json").exists():
        found |= {f"whole {name}" for name in _fields(json.loads((case / "whole.json").read_bytes()))}
    return found


def _expectation(case: Path) -> Expectation:
    request: dict[str, Any] = json.loads((case / "request.json").read_bytes())
    tools = {t["function"]["name"]: t["function"]["parameters"] for t in request.get("tools", [])}
    template: dict[str, Any] = request.get("chat_template_kwargs") or {}
    return Expectation(
        tools=tools,
        calls_allowed=request.get("tool_choice") != "none",
        thinking=bool(template.get("enable_thinking")),
        max_tokens=request.get("max_tokens") or 0,
        window=WINDOW_TOKENS,
    )


def _read(expect: Expectation, data: bytes) -> Reading:
    decoder, reader = SseDecoder(), Reader(expect)
    reader.feed(decoder.feed(data))
    reader.feed(decoder.close())
    return reader.close()[1]


def _of_reading(reading: Reading) -> Facts:
    return {
        "stream: reasoning": reading.reasoning,
        "stream: content": reading.content,
        "stream: calls": [[call.name, json.loads(call.arguments), call.recovered] for call in reading.calls],
        "stream: broken calls": [call.name for call in reading.broken],
        "stream: ending": reading.ending.value,
        "stream: finish reason": reading.finish,
        "stream: reasoning field": reading.reasoning_field,
        "stream: error": reading.fault.message if reading.fault else "",
        "stream: repairs": sorted(reading.repairs),
        "stream: usage": reading.usage is not None,
    }


def _payloads(data: bytes) -> Iterator[Any]:
    decoder = SseDecoder()
    for payload in [*decoder.feed(data), *decoder.close()]:
        try:
            yield json.loads(payload)
        except ValueError:
            continue


def _fields(value: Any, path: str = "") -> Iterator[str]:
    """The paths of all fields in a JSON value; items of lists have no numbers."""
    if isinstance(value, dict):
        for name, item in cast(Mapping[str, Any], value).items():
            yield f"{path}{name}"
            yield from _fields(item, f"{path}{name}.")
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _fields(item, path)


def _of_whole(body: Mapping[str, Any]) -> Facts:
    choice = body["choices"][0]
    message = choice["message"]
    calls: list[Any] = message.get("tool_calls") or []
    return {
        "whole: reasoning": message.get("reasoning"),
        "whole: content": message.get("content"),
        "whole: calls": [[call["function"]["name"], call["function"]["arguments"]] for call in calls],
        "whole: finish reason": choice["finish_reason"],
    }


def _steady(body: bytes) -> Any:
    """An answer's JSON without what changes each time; text if it is none. Numbers in error texts count."""
    try:
        value: Any = json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
    if isinstance(value, dict) and "choices" in value:
        return "a reply"
    return _without_volatile(value)


def _without_volatile(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(Mapping[str, Any], value)
        return {
            name: "(a count)" if name in _TOKEN_COUNTS else _without_volatile(item)
            for name, item in fields.items()
            if name not in _VOLATILE
        }
    return [_without_volatile(item) for item in cast(list[Any], value)] if isinstance(value, list) else value


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}… ({len(text):,} characters)"
