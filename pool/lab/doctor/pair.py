"""Do two calls of one reply arrive as two, and can a call be forced?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pool.lab.doctor.calling import TOOL, TOOL_ARGUMENT, TOOL_NAME
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.marks import call_markup
from pool.lab.doctor.remedies import again
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.wire.errors import ProblemKind, ServerProblem

PAIR_TOKENS = 192
FORCED_TOKENS = 96
PATHS = ("alpha.txt", "beta.txt")
PROMPT = (
    "Use the tool read_file twice, to read the files alpha.txt and beta.txt. Make both calls now, side by side, "
    "in this one reply, and write nothing else."
)
IDLE_PROMPT = "Say hello."
"""A prompt that needs no tool: a call in the reply was forced."""

NAMED: Mapping[str, Any] = {"type": "function", "function": {"name": TOOL_NAME}}
GRAMMAR: Mapping[str, Any] = {
    "type": "structural_tag",
    "format": {
        "type": "or",
        "elements": [
            {
                "type": "tag",
                "begin": f"<tool_call>{TOOL_NAME}",
                "content": {"type": "any_text"},
                "end": "</tool_call>",
            }
        ],
    },
}
"""As Pool's own request when a model announces a call and makes none."""

FORCED, IGNORED, REFUSED = "forces a call", "does nothing", "is refused"


async def two_calls(subject: Subject) -> Finding:
    """Ask for two calls in one reply."""
    reply = await subject.ask(Ask(talk(PROMPT), max_tokens=PAIR_TOKENS, tools=(TOOL,)))
    reading = reply.reading
    told = [(call.name, _path(call.arguments)) for call in (*reading.calls, *reading.broken)]
    data = {"calls": [list(call) for call in told], "broken": [call.why for call in reading.broken]}
    if reading.broken or any(path not in PATHS for _, path in told):
        words = f"calls side by side arrive mixed up ({_words(reply)})"
        means = "Pool asks for them one by one, which costs turns; a mixed-up call is never run."
        return Finding("two-calls", Status.FAIL, words, means, subject.remedies.upgrade, data)
    markup = call_markup(reply.content)
    if markup:
        words = f"a call stands in the text ({' '.join(markup)}), beside {len(told)} that arrived"
        means = "The server's parser loses calls when there are several in a reply."
        return Finding("two-calls", Status.FAIL, words, means, subject.remedies.tools, data)
    if sorted(path for _, path in told) == sorted(PATHS):
        return Finding("two-calls", Status.OK, "two calls of one reply arrive as two", data=data)
    words = f"two calls were asked for, {len(told) or 'none'} came"
    means = "The model calls one tool a reply: Pool works, but reading several files takes as many turns."
    return Finding("two-calls", Status.WARN, words, means, again("two-calls"), data)


def _words(reply: Reply) -> str:
    reading = reply.reading
    wrong = [call.why for call in reading.broken]
    return wrong[0] if wrong else f"{len(reading.calls)} calls with other arguments than asked for"


def _path(arguments: str) -> str:
    try:
        value: object = json.loads(arguments)
    except ValueError:
        return ""
    return str(cast(dict[str, Any], value).get(TOOL_ARGUMENT, "")) if isinstance(value, dict) else ""


async def forced_call(subject: Subject) -> Finding:
    """Try to force a call: required, by the tool's name, and by a grammar where Pool would use one."""
    ways: dict[str, Mapping[str, Any]] = {
        "tool_choice required": {"tool_choice": "required"},
        "a named tool": {"tool_choice": NAMED},
    }
    by_grammar = subject.info.dialect.structural_tags
    ways |= {"the grammar": {"response_format": GRAMMAR}} if by_grammar else {}
    told = {name: await _forced(subject, extra) for name, extra in ways.items()}
    words = "; ".join(f"{name} {what}" for name, what in told.items())
    data = {"ways": told}
    if by_grammar and told["the grammar"] != FORCED:
        means = "When the model only announces a call, Pool cannot make it call, and asks again in words."
        return Finding("forced-call", Status.FAIL, words, means, subject.remedies.upgrade, data)
    if FORCED not in told.values():
        means = "Pool forces no call here anyway; it asks again in words when the model only announces one."
        return Finding("forced-call", Status.WARN, words, means, subject.remedies.tools, data)
    words += "; Pool uses the grammar" if by_grammar else "; Pool does not rely on it"
    return Finding("forced-call", Status.OK, words, data=data)


async def _forced(subject: Subject, extra: Mapping[str, Any]) -> str:
    try:
        reply = await subject.ask(Ask(talk(IDLE_PROMPT), max_tokens=FORCED_TOKENS, tools=(TOOL,), extra=extra))
    except ServerProblem as problem:
        if problem.kind is not ProblemKind.BAD_REQUEST:
            raise
        return REFUSED
    return FORCED if reply.called else IGNORED


TWO_CALLS = Check(
    "two-calls",
    "do two calls arrive?",
    two_calls,
    needs=("stream",),
    means="Whether calls side by side arrive is not known.",
    reads=300,
    writes=PAIR_TOKENS,
)
FORCED_CALL = Check(
    "forced-call",
    "can a call be forced?",
    forced_call,
    needs=("stream",),
    means="Whether a call can be forced is not known.",
    reads=3 * 256,
    writes=3 * FORCED_TOKENS,
)
