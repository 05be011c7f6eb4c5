"""What the server can do beyond plain chat: limit a thought, stop a loop, hold a reply to a schema, sample as told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.remedies import again
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.lab.doctor.thinking import PROMPT as THINKING_PROMPT
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.reading import Ending
from pool.wire.request import Sampling

BUDGET_TOKENS = 96
LOOP_TOKENS = 160
SCHEMA_TOKENS = 96
COPIES = 150
LOOP_WORD = "echo"
LOOP_PROMPT = (
    f"Write the word {LOOP_WORD} {COPIES} times, with a blank between one and the next, and write nothing else."
)
LOOP: Mapping[str, int] = {"max_pattern_size": 8, "min_pattern_size": 1, "min_count": 8}
"""Much stricter than what a run sends, so that a few words show it."""

LEAST_COPIES = 16
"""A reply with more copies than this should have been stopped."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TRAPS: Mapping[str, Any] = {"min_p": 0.05, "logit_bias": {"0": -1}}
"""Fields that vLLM refuses while it speculates."""


async def budget(subject: Subject) -> Finding:
    """A thought with a budget of no tokens: is it refused, held, or ignored?"""
    dialect = subject.info.dialect
    fields = dialect.budget(0)
    if not fields:
        words = f"{dialect.name} has no such field; Pool ends long thoughts by itself"
        return Finding("budget", Status.OK, words, data={"field": ""})
    name, data = ".".join(dialect.thinking_budget), {"field": ".".join(dialect.thinking_budget)}
    try:
        reply = await subject.ask(Ask(talk(THINKING_PROMPT), max_tokens=BUDGET_TOKENS, thinking=True, extra=fields))
    except ServerProblem as problem:
        if problem.kind is not ProblemKind.BAD_REQUEST:
            raise
        words = f"{name} is refused: {problem}"
        means = "Pool closes a thought that runs away by hand, which works as well and costs one more request."
        return Finding("budget", Status.WARN, words, means, subject.remedies.budget or subject.remedies.upgrade, data)
    thought = max((len(text.strip()) for text in reply.reasoning.values()), default=0)
    data |= {"thought_chars": str(thought)}
    if thought:
        words = f"{name} is taken and does nothing: with a budget of 0 there came {thought} characters of thought"
        means = "A limit that is sent does not hold. Pool closes a thought that runs away by hand."
        return Finding("budget", Status.FAIL, words, means, subject.remedies.budget or subject.remedies.upgrade, data)
    if subject.thought_field == "":
        words = f"{name} is taken; whether it holds cannot be told, since no thought came without it either"
        return Finding("budget", Status.WARN, words, "", again("budget"), data)
    return Finding("budget", Status.OK, f"{name} holds: with a budget of 0 there was no thought", data=data)


async def loop_stop(subject: Subject) -> Finding:
    """A reply that repeats one word: does the server stop it?"""
    dialect = subject.info.dialect
    if not dialect.repetition_detection:
        words = f"{dialect.name} has no such field; Pool looks for loops itself"
        return Finding("loop-stop", Status.OK, words, data={"field": ""})
    name = next(iter(dialect.repetition_detection))
    reply = await subject.ask(Ask(talk(LOOP_PROMPT), max_tokens=LOOP_TOKENS, extra={name: dict(LOOP)}))
    copies = reply.content.count(LOOP_WORD)
    data = {"field": name, "copies": copies, "ending": reply.reading.ending.value}
    if reply.reading.ending is Ending.REPETITION:
        return Finding("loop-stop", Status.OK, f"{name} stops a loop, here after {copies} copies", data=data)
    if copies > LEAST_COPIES:
        words = f"{name} is taken and does nothing: {copies} copies of one word were written"
        means = "Pool sends it as a net for loops in file contents, where it does not look itself."
        return Finding("loop-stop", Status.FAIL, words, means, subject.remedies.upgrade, data)
    words = f"cannot be told: the model was to repeat a word, and wrote {subject.quote(reply.content)}"
    return Finding("loop-stop", Status.WARN, words, "", again("loop-stop"), data)


async def schema(subject: Subject) -> Finding:
    """A reply that must fit a JSON Schema."""
    dialect = subject.info.dialect
    if not dialect.json_schema:
        words = f"Pool does not use it with {dialect.name}: it asks in words and checks the answer"
        return Finding("schema", Status.OK, words, data={"used": False})
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}
    ask = Ask(talk("Say hello to me in plain words."), max_tokens=SCHEMA_TOKENS, extra={"response_format": form})
    try:
        reply = await subject.ask(ask)
    except ServerProblem as problem:
        if problem.kind is not ProblemKind.BAD_REQUEST:
            raise
        means = "pool run --output-schema asks in words instead, and may have to ask again."
        words = f"a JSON Schema is refused: {problem}"
        return Finding("schema", Status.FAIL, words, means, subject.remedies.upgrade, {"used": True})
    data = {"used": True, "ending": reply.reading.ending.value}
    if _fits(reply.content):
        return Finding("schema", Status.OK, "a reply fits the JSON Schema that it is held to", data=data)
    if reply.reading.ending is Ending.LENGTH and reply.content.lstrip().startswith("{"):
        words = f"the JSON was not over after {SCHEMA_TOKENS} tokens; it may be filled with blanks"
        means = "pool run --output-schema may run to the token limit."
        return Finding("schema", Status.WARN, words, means, subject.remedies.blanks or again("schema"), data)
    words = f"response_format is taken and does nothing: the reply was {subject.quote(reply.content)}"
    means = "pool run --output-schema has to ask again until the answer fits."
    return Finding("schema", Status.FAIL, words, means, subject.remedies.upgrade, data)


def _fits(text: str) -> bool:
    try:
        value: object = json.loads(text)
    except ValueError:
        return False
    if not isinstance(value, dict):
        return False
    fields = cast(dict[str, Any], value)
    return set(fields) == {"name", "age"} and isinstance(fields["name"], str) and type(fields["age"]) is int


async def sampling(subject: Subject) -> Finding:
    """Send the sampling that a run would send, then the fields that some servers refuse."""
    given = subject.sampling
    fields = {"temperature": given.temperature, "top_p": given.top_p, "top_k": given.top_k} | dict(given.extra)
    said = ", ".join(f"{name} {value}" for name, value in fields.items() if value is not None) or "nothing"
    refusal = await _refusal(subject, given)
    data: dict[str, Any] = {"sent": fields, "refused": refusal}
    if refusal:
        words = f"what your settings send is refused ({said}): {refusal}"
        means = "Every run fails with its first request."
        remedy = "pool config unset sampling.extra" if given.extra else "pool config show --changed"
        return Finding("sampling", Status.FAIL, words, means, remedy, data)
    traps = [name for name in TRAPS if name in subject.info.dialect.refused_under_speculation]
    hot = replace(given, temperature=given.temperature or 1.0)
    shut = [name for name in traps if await _refusal(subject, replace(hot, extra={name: TRAPS[name]}))]
    data["traps"] = {name: name in shut for name in traps}
    words = f"what a run sends is taken ({said})"
    words += f"; {' and '.join(shut)} would be refused, and Pool sends none of it" if shut else ""
    return Finding("sampling", Status.OK, words, data=data)


async def _refusal(subject: Subject, wanted: Sampling) -> str:
    """Why a request with this sampling is refused; "" if it is taken."""
    try:
        await subject.ask(Ask(talk("Say yes."), max_tokens=1, sampling=wanted))
    except ServerProblem as problem:
        if problem.kind is not ProblemKind.BAD_REQUEST:
            raise
        return str(problem)
    return ""


BUDGET = Check(
    "budget",
    "can a thought be limited?",
    budget,
    needs=("stream",),
    means="Whether the server can limit a thought is not known; Pool can.",
    reads=64,
    writes=BUDGET_TOKENS,
)
LOOP_STOP = Check(
    "loop-stop",
    "does it stop loops?",
    loop_stop,
    needs=("stream",),
    means="Pool sends this field with every request, so runs will fail too.",
    reads=96,
    writes=LOOP_TOKENS,
)
SCHEMA_CHECK = Check(
    "schema",
    "can a reply be held to a schema?",
    schema,
    needs=("stream",),
    means="Whether a reply can be held to a schema is not known.",
    reads=96,
    writes=SCHEMA_TOKENS,
)
SAMPLING = Check(
    "sampling",
    "is the sampling taken?",
    sampling,
    needs=("stream",),
    means="Whether the server takes what a run sends is not known.",
    reads=3 * 64,
    writes=3,
)
