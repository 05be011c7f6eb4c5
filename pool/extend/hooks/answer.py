"""What a hook answered: from its exit status and its output to a decision, or to what is wrong with it."""

from __future__ import annotations

import json
from typing import Any, cast

from pool.config.hooks import HookPoint
from pool.messages import valid_text
from pool_tools.colours import people_text, plain_text
from pool_tools.frozen import frozen
from pool_tools.text import clip

EXIT_BLOCK = 2
"""A hook that ends with this status says no; what it wrote to its error output, else to its output, is why."""

CONTEXT_CHARS = 8_000
"""So much of what a hook adds reaches the model."""

REASON_CHARS = 2_000
NOTE_CHARS = 300

NO_REASON = "it gave no reason"

_EVERYWHERE = frozenset({"decision", "reason", "note"})
_MORE: dict[HookPoint, frozenset[str]] = {
    HookPoint.SESSION_START: frozenset({"context"}),
    HookPoint.PROMPT: frozenset({"context", "prompt"}),
    HookPoint.BEFORE_TOOL: frozenset({"context", "arguments"}),
    HookPoint.AFTER_TOOL: frozenset({"context"}),
    HookPoint.BEFORE_COMPACTION: frozenset({"context"}),
    HookPoint.STOP: frozenset({"go_on"}),
}


class HookFault(Exception):
    """A hook that failed: it could not be started, took too long, ended with an odd status or gave no answer."""


@frozen
class Ran:
    """How a hook's process ended, and what it wrote."""

    status: int
    out: str
    err: str


@frozen
class Answer:
    """What a hook wants. All texts are clean: no escapes of a terminal, cut to their limits.

    blocked is why it says no, "" if it does not. arguments and prompt take the place of the call's and the user's, None
    leaves them. context is added for the model, go_on is why the run should not end yet, note is for people.
    """

    blocked: str = ""
    arguments: dict[str, Any] | None = None
    prompt: str | None = None
    context: str = ""
    go_on: str = ""
    note: str = ""


def read_answer(point: HookPoint, ran: Ran) -> Answer:
    """The answer of a hook that ended by itself. Raises `HookFault`."""
    out = ran.out.strip()
    match ran.status:
        case 0:
            return _from_json(point, out) if out.startswith("{") else _from_text(point, out)
        case status if status == EXIT_BLOCK:
            why = cleaned(ran.err.strip() or out, REASON_CHARS) or NO_REASON
            return Answer(go_on=why) if point is HookPoint.STOP else Answer(blocked=why)
        case status:
            said = cleaned((ran.err.strip() or out).rpartition("\n")[2], NOTE_CHARS)
            raise HookFault(f"it ended with status {status}{f': {said}' if said else ''}")


def cleaned(text: str, most: int) -> str:
    """Text of a hook, safe to show and to send, cut to so many characters."""
    return clip(valid_text(plain_text(people_text(text))).replace("\r", "\n").strip(), most)


def _from_text(point: HookPoint, out: str) -> Answer:
    if "context" in _MORE[point]:
        return Answer(context=cleaned(out, CONTEXT_CHARS))
    return Answer(note=cleaned(out, NOTE_CHARS))


def _from_json(point: HookPoint, out: str) -> Answer:
    try:
        value: Any = json.loads(out)
    except (ValueError, RecursionError) as error:
        raise HookFault(f"its output begins like JSON but is none: {error}") from None
    said = cast(dict[str, Any], value)
    known = _EVERYWHERE | _MORE[point]
    if unknown := next((key for key in said if key not in known), ""):
        names = ", ".join(sorted(known))
        raise HookFault(f"its answer has {cleaned(unknown, 40)!r}; at {point.value} there are {names}")
    decision = said.get("decision", "allow")
    if decision not in ("allow", "block"):
        raise HookFault("decision in its answer is neither allow nor block")
    reason = _text(said, "reason", REASON_CHARS)
    go_on = _text(said, "go_on", REASON_CHARS)
    blocked = (reason or NO_REASON) if decision == "block" else ""
    if point is HookPoint.STOP:
        blocked, go_on = "", go_on or blocked
    return Answer(
        blocked,
        _arguments(said),
        _prompt(said, len(out)),
        _text(said, "context", CONTEXT_CHARS),
        go_on,
        _text(said, "note", NOTE_CHARS),
    )


def _arguments(said: dict[str, Any]) -> dict[str, Any] | None:
    if "arguments" not in said:
        return None
    if not isinstance(said["arguments"], dict):
        raise HookFault("arguments in its answer is no object")
    return cast(dict[str, Any], said["arguments"])


def _prompt(said: dict[str, Any], most: int) -> str | None:
    if "prompt" not in said:
        return None
    text = _text(said, "prompt", most)
    if not text:
        raise HookFault("prompt in its answer is empty")
    return text


def _text(said: dict[str, Any], key: str, most: int) -> str:
    value = said.get(key, "")
    if not isinstance(value, str):
        raise HookFault(f"{key} in its answer is no text")
    return cleaned(value, most)
