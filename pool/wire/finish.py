"""Settling a reply at its end: how did it end, which calls may run, what was markup and what was text.

A reply is whole only if its finish reason is natural, no repetition stopped it, its completion tokens stay below
`max_tokens` (or far above: such a server keeps no limit) and its total below the window: vLLM 0.25.1 closes the JSON of
a call that the token limit cut and says `tool_calls` (recordings 27, 54), so the finish reason alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pool.wire.codespans import code_spans
from pool.wire.jsontext import BadJson, as_mapping, canonical, read_prefix
from pool.wire.markup import find_calls
from pool.wire.reading import REPLY_TOO_LONG, BrokenCall, Ending, Expectation, RawCall, Reading

NATURAL_FINISHES = frozenset({"stop", "tool_calls", "function_call", "eos"})
LOADED_FINISHES = frozenset({"load", "unload"})
"""Ollama's own API: the model was loaded or unloaded, and nothing was generated."""

BELIEVED_OVERRUN = 2
"""A total of more windows than this does not mean that the window is full: the count is wrong, or the window is."""

LIMIT_OVERRUN = 1.25
"""A count beyond this many output limits says that the server keeps none: where it stopped was not for the limit."""

_WHY = {
    Ending.LENGTH: "the reply hit its output limit inside or before this call, so the call may be cut",
    Ending.WINDOW: "the context window was full, so the call may be cut",
    Ending.REPETITION: "the server stopped the reply because it repeated itself",
    Ending.SERVER_ERROR: "the server failed while the call was being written",
    Ending.DROPPED: "the connection ended while the call was being written",
    Ending.CUT: "the server ended the reply early",
}

_LOOSE = (
    "call markup stands in the middle of the text; a call must be the last thing in a reply, "
    "and an example belongs in a code block"
)


def settle(reading: Reading, expect: Expectation, *, held: str, loose_call: bool) -> tuple[Reading, str]:
    """Complete an assembled reading.

    held is text from a call opener at the end of the content; loose_call says that call markup stands in its middle.
    Returns the reading, and text that turned out to be content only now.
    """
    ending = ending_of(reading, expect)
    reading = replace(reading, ending=ending)
    reading = _names_from_json(reading, expect)
    late = ""
    if loose_call and expect.tools and expect.calls_allowed and not reading.calls:
        reading, late = _with_broken(replace(reading, content=reading.content + held), _LOOSE), held
    elif held:
        reading, late = _judge_held(reading, expect, held)
    reading, answer = _look_into_reasoning(reading, expect)
    if reading.ending is not Ending.WHOLE and reading.calls:
        why = _WHY.get(reading.ending, "the reply is not whole")
        cut = tuple(BrokenCall(c.id, c.name, c.arguments, why) for c in reading.calls)
        reading = replace(reading, calls=(), broken=(*cut, *reading.broken))
    return reading, late + answer


def ending_of(reading: Reading, expect: Expectation) -> Ending:
    """How the reply ended; see the module's text."""
    usage = reading.usage
    total = usage.total if usage else 0
    full = 0 < expect.window <= total <= expect.window * BELIEVED_OVERRUN
    match reading:
        case Reading(fault=fault) if fault is not None:
            return Ending.SERVER_ERROR
        case Reading(stop="repetition_detected") | Reading(finish="repetition"):
            return Ending.REPETITION
        case Reading(repairs=repairs) if REPLY_TOO_LONG in repairs:
            return Ending.LENGTH
        case Reading(finish=finish) if not finish or finish in LOADED_FINISHES:
            return Ending.DROPPED
        case Reading(finish="length"):
            return Ending.WINDOW if full else Ending.LENGTH
        case Reading(finish="error" | "abort"):
            return Ending.SERVER_ERROR
        case Reading(finish=finish) if finish not in NATURAL_FINISHES:
            return Ending.CUT
        case _:
            pass
    if usage and expect.max_tokens and expect.max_tokens <= usage.completion <= expect.max_tokens * LIMIT_OVERRUN:
        return Ending.LENGTH
    return Ending.WINDOW if full else Ending.WHOLE


def _judge_held(reading: Reading, expect: Expectation, held: str) -> tuple[Reading, str]:
    """Call markup at the end of the content: a call, a broken call, markup to drop, or just text."""
    natural = reading.ending is Ending.WHOLE
    finding = find_calls(held, expect.tools, at_natural_end=natural)
    allowed = bool(expect.tools) and expect.calls_allowed
    if not finding.spans:
        if not natural:
            return _with_broken(reading, "the reply ended inside a call written as text"), ""
        return replace(reading, content=reading.content + held), held
    if not allowed or reading.calls or reading.broken:
        repairs = (*reading.repairs, "markup-dropped")
        return replace(reading, repairs=repairs, content=reading.content + finding.before), finding.before
    if finding.calls:
        repairs = (*reading.repairs, "call-in-content")
        return replace(reading, calls=finding.calls, repairs=repairs), ""
    return _with_broken(reading, finding.rejected or "the call was written as text and could not be read"), ""


def _with_broken(reading: Reading, why: str) -> Reading:
    repairs = (*reading.repairs, "broken-markup")
    return replace(reading, broken=(*reading.broken, BrokenCall("", "", "", why)), repairs=repairs)


def _look_into_reasoning(reading: Reading, expect: Expectation) -> tuple[Reading, str]:
    """A reply with nothing but reasoning: its end may hold a call, or the answer behind a close tag."""
    if reading.content.strip() or reading.calls or reading.broken or not reading.reasoning:
        return reading, ""
    thought, answer = _split_thought(reading.reasoning, expect.think_tags)
    if answer.strip():
        repairs = (*reading.repairs, "answer-in-reasoning")
        return replace(reading, reasoning=thought, content=reading.content + answer, repairs=repairs), answer
    if not (expect.tools and expect.calls_allowed):
        return reading, ""
    # A close tag with nothing behind it does not unmake the call before it.
    finding = find_calls(thought, expect.tools, at_natural_end=reading.ending is Ending.WHOLE)
    if not finding.calls or finding.after.strip():
        return reading, ""
    repairs = (*reading.repairs, "call-in-reasoning")
    return replace(reading, calls=finding.calls, reasoning=finding.before, repairs=repairs), ""


def _split_thought(text: str, tags: tuple[str, ...]) -> tuple[str, str]:
    """Reasoning up to its last close tag outside code, and what follows it."""
    spans = code_spans(text)
    best = (-1, 0)
    for tag in tags:
        mark = f"</{tag}>"
        at = text.rfind(mark)
        if at > best[0] and not any(a <= at < b for a, b in spans):
            best = (at, len(mark))
    return (text, "") if best[0] < 0 else (text[: best[0]], text[sum(best) :])


def _names_from_json(reading: Reading, expect: Expectation) -> Reading:
    """A call whose name is JSON, `{"name": ..}` or `NAME{..}` (vLLM's parser on foreign markup, recording 16)."""
    mended = tuple(_name_from_json(c, expect.tools) for c in reading.calls)
    if mended == reading.calls:
        return reading
    return replace(reading, calls=mended, repairs=(*reading.repairs, "json-in-name"))


def _name_from_json(call: RawCall, tools: Mapping[str, Mapping[str, Any]]) -> RawCall:
    brace = call.name.find("{")
    if brace < 0 or call.arguments.strip() not in ("", "{}"):
        return call
    try:
        value, end, _ = read_prefix(call.name, brace)
    except BadJson:
        return call
    body = as_mapping(value)
    if body is None or call.name[end:].strip():
        return call
    name = call.name[:brace].strip() or body.get("name")
    arguments = as_mapping(body if brace else body.get("arguments", {}))
    if not isinstance(name, str) or name not in tools or arguments is None:
        return call
    return replace(call, name=name, arguments=canonical(arguments))
