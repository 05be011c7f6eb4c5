"""The parts of one decoded chunk, whatever its shape: delta, finish reason, error, token counts. Never raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pool.events import Usage
from pool.messages import valid_text
from pool.wire.error_body import MAX_TOKENS_TOLD, unwrapped
from pool.wire.reading import ServerFault

Json = Mapping[str, Any]

MAX_CODE_DIGITS = 9
"""Longest error code in text that is read as a number."""

MAX_FAULT_CHARS = 65_536
"""Most characters of an error object that are kept."""

UNREADABLE_WORD = "unreadable"
"""Stands for a finish or stop reason that is neither text nor a number."""


def token_count(value: object) -> int | None:
    """A number of tokens: a negative one counts as 0; None if it is no whole number, or too large to be true."""
    if not isinstance(value, int) or isinstance(value, bool) or value > MAX_TOKENS_TOLD:
        return None
    return max(0, value)


def fault_of(error: Any, chunk: Json) -> ServerFault:
    """An error object of any server's shape: `{"error": {...}}`, `{"error": "text"}`, also with an object as text."""
    error = unwrapped(error)
    if not isinstance(error, dict):
        return ServerFault(_said(error))
    obj = cast(Json, error)
    code = obj.get("code") or chunk.get("code") or 0
    kind = obj.get("type")
    text = obj.get("message") or obj.get("detail") or obj
    return ServerFault(_said(text), _code(code), valid_text(kind) if isinstance(kind, str) else "")


def usage_of(chunk: Json) -> Usage | None:
    """Token counts of a chunk: OpenAI's `usage`, or Ollama's own counters, which are left out where they are 0.

    None if there are none, or if one is too large to be true.
    """
    raw = chunk.get("usage")
    if isinstance(raw, dict):
        u = cast(Json, raw)
        cached = _known(_object(u.get("prompt_tokens_details")).get("cached_tokens")) or _known(u.get("cached_tokens"))
        if not cached:
            cached = _known(_object(chunk.get("timings")).get("cache_n"))
        details = _object(u.get("completion_tokens_details"))
        reasoning = _known(details.get("reasoning_tokens")) or _known(u.get("reasoning_tokens"))
        return _usage(u.get("prompt_tokens"), u.get("completion_tokens"), cached, reasoning)
    if chunk.get("done") is True and ("eval_count" in chunk or "prompt_eval_count" in chunk):
        cached = _known(chunk.get("prompt_eval_cached_count"))
        return _usage(chunk.get("prompt_eval_count"), chunk.get("eval_count"), cached, 0)
    return None


def delta_of(chunk: Json) -> tuple[Json, str, str]:
    """Delta, finish reason and stop reason of a chunk, whatever its shape.

    Seen: `choices[0].delta` (streams), `choices[0].message` (whole bodies), `choices` empty, null or missing (usage
    and error chunks), SGLang's `matched_stop`, Ollama's own `message`, whose last line has `done` and (since 0.1.38)
    `done_reason`.
    """
    choices = chunk.get("choices")
    if isinstance(choices, list) and choices:
        first = cast(list[Any], choices)[0]
        if not isinstance(first, dict):
            return {}, "", ""
        choice = cast(Json, first)
        delta: Any = choice.get("delta") or choice.get("message")
        stop = choice.get("stop_reason")
        if stop is None:
            stop = choice.get("matched_stop")
        finish = choice.get("finish_reason")
        return (
            cast(Json, delta) if isinstance(delta, dict) else {},
            _word(finish) if finish else "",
            "" if stop is None else _word(stop),
        )
    message = chunk.get("message")
    finish = chunk.get("done_reason") or ("stop" if chunk.get("done") is True else "")
    return cast(Json, message) if isinstance(message, dict) else {}, _word(finish), ""


def flat_text(content: Any) -> str:
    """Content as text: some servers send a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in cast(list[Any], content) if isinstance(p, dict)]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return "".join(p for p in cast(list[Any], parts) if isinstance(p, str))
    return ""


def _usage(prompt: object, completion: object, cached: int, reasoning: int) -> Usage | None:
    """The counts together. A number that cannot be true makes the others doubtful too."""
    if any(isinstance(n, int) and n > MAX_TOKENS_TOLD for n in (prompt, completion)):
        return None
    return Usage(_known(prompt), _known(completion), cached, reasoning)


def _known(value: object) -> int:
    return token_count(value) or 0


def _word(value: object) -> str:
    match value:
        case str():
            return valid_text(value)
        case int():
            return str(value)
        case _:
            return UNREADABLE_WORD


def _code(value: object) -> int:
    match value:
        case bool():
            return 0
        case int():
            return value
        case str() if value.isascii() and value.isdigit() and len(value) <= MAX_CODE_DIGITS:
            return int(value)
        case _:
            return 0


def _said(value: object) -> str:
    """The words of an error, as text."""
    if isinstance(value, str):
        return valid_text(value[:MAX_FAULT_CHARS])
    try:
        return valid_text(json.dumps(value, ensure_ascii=False)[:MAX_FAULT_CHARS])
    except (ValueError, RecursionError):
        return "an error object that is nested too deeply to be shown"


def _object(value: object) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}
