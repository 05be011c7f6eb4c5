"""Does a tool call arrive as a call?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.marks import call_markup
from pool.lab.doctor.remedies import again
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import Ending

CALL_TOKENS = 256
LEAST_TOOL_TOKENS = 20
"""A template that knows tools needs more tokens than this for the one tool that is offered."""

TOOL_NAME, TOOL_ARGUMENT = "read_file", "path"
PROMPT = "Use the tool read_file to read the file alpha.txt, then tell me what is in it."
TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Read a text file.",
        "parameters": {
            "type": "object",
            "properties": {TOOL_ARGUMENT: {"type": "string", "description": "The file's path."}},
            "required": [TOOL_ARGUMENT],
        },
    },
}


def call_ask(*, thinking: bool, stream: bool = True) -> Ask:
    """A request that cannot be met without a call of the one tool that it offers."""
    return Ask(talk(PROMPT), max_tokens=CALL_TOKENS, thinking=thinking, tools=(TOOL,), stream=stream)


async def tool_call(subject: Subject) -> Finding:
    """Ask for a call with thinking on; if the thought takes all tokens, once more without."""
    try:
        reply = await subject.ask(call_ask(thinking=True))
        if reply.reading.ending is Ending.LENGTH and not reply.called:
            reply = await subject.ask(call_ask(thinking=False))
    except ServerProblem as problem:
        if problem.kind is not ProblemKind.BAD_REQUEST:
            raise
        means = "No tool can be offered to the model, so it can only talk."
        remedy = subject.remedies.tools
        return Finding("tool-call", Status.FAIL, f"a request with a tool is refused: {problem}", means, remedy)
    return _structured(subject, reply) if reply.called else await _missing(subject, reply)


def _structured(subject: Subject, reply: Reply) -> Finding:
    """Calls came as calls: are name and arguments those that were asked for?"""
    reading = reply.reading
    calls = [(call.name, call.arguments) for call in (*reading.calls, *reading.broken)]
    data = _data(reply, structured=True) | {"calls": [list(call) for call in calls]}
    upgrade = subject.remedies.upgrade
    if reading.ending is not Ending.WHOLE:
        words = f"the call was cut: the reply ended with {reading.ending.value}"
        return Finding("tool-call", Status.WARN, words, "Pool does not run such a call.", again("tool-call"), data)
    name, arguments = calls[0] if calls else ("", "")
    if name != TOOL_NAME:
        words = f"a call came, but of {subject.quote(name)} instead of {TOOL_NAME}"
        return Finding("tool-call", Status.FAIL, words, "Pool cannot run it and has to ask again.", upgrade, data)
    if not _fits(arguments):
        words = f"a call came, but its arguments are not what was asked for: {subject.quote(arguments)}"
        return Finding("tool-call", Status.FAIL, words, "Pool cannot run it and has to ask again.", upgrade, data)
    notes = "" if all(call.id for call in reading.calls) else "; calls have no ids, Pool gives them its own"
    if reading.finish != "tool_calls":
        notes += f"; finish reason {reading.finish}, which Pool does not rely on"
    words = f"a structured call of {TOOL_NAME} with valid arguments{notes}"
    return Finding("tool-call", Status.OK, words, data=data)


async def _missing(subject: Subject, reply: Reply) -> Finding:
    """No structured call: is it in the text, in the thought, or was there none?"""
    reading = reply.reading
    in_content = call_markup(reply.content)
    in_thought = [mark for text in reply.reasoning.values() for mark in call_markup(text)]
    data = _data(reply, structured=False) | {"markup_in_content": in_content, "markup_in_reasoning": in_thought}
    saved = "Pool found the call all the same, but" if reading.calls else "Pool could not use this one, and"
    if in_content:
        words = f"the call arrives as markup in the text ({' '.join(in_content)}), not as a call"
        means = f"{saved} a call read from text is never as sure as one that the server parsed."
        return Finding("tool-call", Status.FAIL, words, means, subject.remedies.tools, data)
    if in_thought:
        words = f"the call was written inside the thought ({' '.join(in_thought)}), where servers do not look for calls"
        means = f"{saved} turns are lost whenever that happens."
        return Finding("tool-call", Status.WARN, words, means, 'pool run --thinking off "PROMPT"', data)
    if reading.finish == "tool_calls":
        words = "the finish reason says tool_calls, but no call was sent"
        means = "The server's parser lost the call; Pool has to ask again."
        return Finding("tool-call", Status.FAIL, words, means, subject.remedies.tools, data)
    added = await _tokens_of_tool(subject, reply)
    data["tool_tokens"] = added
    if added is not None and added < LEAST_TOOL_TOKENS:
        words = f"the tool does not reach the model: it adds {added} tokens to the prompt"
        means = "The chat template drops tools, so the model cannot know that it has any."
        return Finding("tool-call", Status.FAIL, words, means, subject.remedies.tools, data)
    said = subject.quote(reading.content or reading.reasoning)
    words = f"no call: the model answered {said}"
    if reading.ending is not Ending.WHOLE:
        words = f"no call: the reply ended early ({reading.ending.value}) at {said}"
    means = "The model was told to call a tool and did not. If that happens again, it is not fit for an agent."
    return Finding("tool-call", Status.WARN, words, means, again("tool-call"), data)


async def _tokens_of_tool(subject: Subject, reply: Reply) -> int | None:
    """By how many tokens the offered tool makes the prompt longer; None if the server does not count."""
    bare = await subject.ask(Ask(talk(PROMPT), max_tokens=1, thinking=subject.seen[-1].ask.thinking))
    if not reply.prompt_tokens or not bare.prompt_tokens:
        return None
    return reply.prompt_tokens - bare.prompt_tokens


def _fits(arguments: str) -> bool:
    try:
        value = json.loads(arguments)
    except ValueError:
        return False
    return isinstance(value, dict) and isinstance(cast(dict[str, Any], value).get(TOOL_ARGUMENT), str)


def _data(reply: Reply, *, structured: bool) -> dict[str, Any]:
    return {
        "structured": structured,
        "recovered": [call.name for call in reply.reading.calls if call.recovered],
        "finish": reply.reading.finish,
        "ending": reply.reading.ending.value,
        "repairs": list(reply.reading.repairs),
    }


TOOL_CALL = Check(
    "tool-call",
    "does a tool call arrive?",
    tool_call,
    needs=("stream",),
    means="Pool works through tool calls; without them it can only talk.",
    reads=3 * 256,
    writes=2 * CALL_TOKENS + 1,
)
