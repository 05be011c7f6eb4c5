"""From what a recorder kept to figures and to a trajectory in ATIF.

An agent may ask for more than its conversation (a title, a summary). The conversation is the system prompt with the
most requests; requests with others are counted, and are no steps.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from pool.lab.eval.harnesses.recorder import Exchange
from pool.lab.eval.harnesses.responses import ENDING, messages, outputs
from pool_tools.frozen import frozen

SCHEMA = "ATIF-v1.8"
CHAT = "/chat/completions"
END_THOUGHT = "</think>"

Json = dict[str, Any]


@dataclass(slots=True)
class Reply:
    """What a model said in one reply."""

    content: str = ""
    reasoning: str = ""
    calls: dict[int, Json] = field(default_factory=dict[int, Json])
    usage: Json = field(default_factory=Json)

    def take(self, delta: Mapping[str, Any]) -> None:
        """Add a delta, or a whole message."""
        self.content += _text(delta.get("content"))
        self.reasoning += _text(delta.get("reasoning_content") or delta.get("reasoning"))
        for at, piece in enumerate(_rows(delta.get("tool_calls"))):
            place = piece.get("index")
            call = self.calls.setdefault(
                place if isinstance(place, int) else at, {"id": "", "name": "", "arguments": ""}
            )
            function = _object(piece.get("function"))
            call["id"] = call["id"] or _text(piece.get("id"))
            call["name"] += _text(function.get("name"))
            call["arguments"] += _text(function.get("arguments"))


@frozen
class Figures:
    """Counts of a run: replies of the conversation, its calls, tokens of all requests; seconds are the server's.

    others counts requests beside the conversation, failed those that the server refused.
    """

    turns: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    reply_seconds: float
    first_token_seconds: float
    others: int
    failed: int


def figures(exchanges: Sequence[Exchange]) -> Figures:
    """The counts of all that went through."""
    own = conversation(exchanges)
    replies = [reply_of(one) for one in own]
    every = [reply_of(one).usage for one in exchanges]
    return Figures(
        turns=len(own),
        calls=sum(len(reply.calls) for reply in replies),
        prompt_tokens=sum(_count(u, "prompt_tokens", "input_tokens") for u in every),
        completion_tokens=sum(_count(u, "completion_tokens", "output_tokens") for u in every),
        cached_tokens=sum(_part(u, "prompt_tokens_details", "input_tokens_details", "cached_tokens") for u in every),
        reasoning_tokens=sum(
            _part(u, "completion_tokens_details", "output_tokens_details", "reasoning_tokens") for u in every
        ),
        reply_seconds=round(sum(one.ended - one.begun for one in own), 3),
        first_token_seconds=round(sum(one.first - one.begun for one in own), 3),
        others=sum(one.status < 400 for one in exchanges) - len(own),
        failed=sum(one.status >= 400 for one in exchanges),
    )


def answer(exchanges: Sequence[Exchange]) -> str:
    """The last thing that the model said in the conversation without asking for a call, without thoughts; "" for none.

    Where a server's parser lets a thought through, it ends with `</think>`.
    """
    said = [reply for reply in map(reply_of, conversation(exchanges)) if reply.content.strip() and not reply.calls]
    return said[-1].content.rpartition(END_THOUGHT)[2].strip() if said else ""


def conversation(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The requests of the conversation that were answered, in order."""
    good = [one for one in exchanges if one.status < 400 and one.path.partition("?")[0].endswith((CHAT, ENDING))]
    systems = Counter(map(_system, good))
    if not systems:
        return []
    main = max(systems, key=lambda system: (systems[system], len(system)))
    return [one for one in good if _system(one) == main]


def trajectory(exchanges: Sequence[Exchange], agent: str, version: str, model: str) -> Json:
    """The conversation as ATIF. What was said between two replies stands where it was first seen."""
    own = conversation(exchanges)
    results = _results(own)
    steps: list[Json] = []
    seen: Counter[str] = Counter()
    used: set[str] = set()
    for number, one in enumerate(own):
        here: Counter[str] = Counter()
        for message in _messages(one):
            if message.get("role") not in ("system", "developer", "user"):
                continue
            key = json.dumps([message.get("role"), message.get("content")], sort_keys=True)
            here[key] += 1
            if here[key] > seen[key]:
                source = "user" if message["role"] == "user" else "system"
                steps.append(
                    {"source": source, "message": _text(message.get("content")), "timestamp": _when(one.begun)}
                )
        seen |= here
        steps.append(_agent_step(one, number, results, used))
    if not steps:
        steps.append({"source": "system", "message": "The agent sent no request that the recorder could read."})
    count = figures(exchanges)
    return {
        "schema_version": SCHEMA,
        "session_id": f"{agent}-recorded",
        "agent": {"name": agent, "version": version or "unknown", **({"model_name": model} if model else {})},
        "steps": [{"step_id": at, **step} for at, step in enumerate(steps, 1)],
        "notes": f"Recorded between {agent} and the model server by Pool; {count.others} other requests are no steps.",
        "final_metrics": {
            "total_prompt_tokens": count.prompt_tokens,
            "total_completion_tokens": count.completion_tokens,
            "total_cached_tokens": count.cached_tokens,
            "total_steps": len(steps),
        },
    }


def reply_of(one: Exchange) -> Reply:
    """The reply in an exchange's bytes, streamed or whole."""
    reply = Reply()
    for row in _values(one.reply):
        usage = row.get("usage") or _object(row.get("response")).get("usage")
        if isinstance(usage, dict):
            reply.usage = cast(Json, usage)
        for choice in _rows(row.get("choices"))[:1]:
            reply.take(_object(choice.get("delta")) or _object(choice.get("message")))
        for message in outputs(row):
            reply.take(message)
    return reply


def _agent_step(one: Exchange, number: int, results: Mapping[str, str], used: set[str]) -> Json:
    reply = reply_of(one)
    step: Json = {"source": "agent", "message": reply.content, "timestamp": _when(one.ended), "llm_call_count": 1}
    if reply.reasoning:
        step["reasoning_content"] = reply.reasoning
    calls: list[Json] = []
    found: list[Json] = []
    for at, call in sorted(reply.calls.items()):
        name = call["id"] if call["id"] and call["id"] not in used else f"call-{number}-{at}"
        used.add(name)
        arguments, exact = _arguments(call["arguments"])
        extra = {} if exact else {"extra": {"arguments_text": call["arguments"]}}
        calls.append(
            {"tool_call_id": name, "function_name": call["name"] or "unknown", "arguments": arguments, **extra}
        )
        if call["id"] in results:
            found.append({"source_call_id": name, "content": results[call["id"]]})
    if calls:
        step["tool_calls"] = calls
    if found:
        step["observation"] = {"results": found}
    if reply.usage:
        step["metrics"] = {
            "prompt_tokens": _count(reply.usage, "prompt_tokens", "input_tokens"),
            "completion_tokens": _count(reply.usage, "completion_tokens", "output_tokens"),
            "cached_tokens": _part(reply.usage, "prompt_tokens_details", "input_tokens_details", "cached_tokens"),
        }
    return step


def _results(own: Iterable[Exchange]) -> dict[str, str]:
    """What calls gave, by their ids, from later requests."""
    return {
        _text(message.get("tool_call_id")): _text(message.get("content"))
        for one in own
        for message in _messages(one)
        if message.get("role") == "tool"
    }


def _arguments(text: str) -> tuple[Json, bool]:
    try:
        value: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}, False
    return (cast(Json, value), True) if isinstance(value, dict) else ({}, False)


def _values(body: bytes) -> Iterator[Json]:
    """The JSON objects of a reply: one, or those of a stream's events."""
    text = body.decode("utf-8", "replace")
    lines = [text] if text.lstrip().startswith("{") else (line[5:] for line in text.splitlines() if line[:5] == "data:")
    for line in lines:
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield cast(Json, value)


def _messages(one: Exchange) -> list[Json]:
    return messages(one.request) if "input" in one.request else _rows(one.request.get("messages"))


def _system(one: Exchange) -> str:
    return "\n".join(_text(m.get("content")) for m in _messages(one) if m.get("role") in ("system", "developer"))


def _rows(value: Any) -> list[Json]:
    return (
        [cast(Json, one) for one in cast("list[Any]", value) if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def _object(value: Any) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in _rows(cast("list[Any]", value)))
    return value if isinstance(value, str) else ""


def _count(usage: Mapping[str, Any], *names: str) -> int:
    return next((value for name in names if isinstance(value := usage.get(name), int)), 0)


def _part(usage: Mapping[str, Any], chat: str, responses: str, name: str) -> int:
    """A count of a usage's details, by their name in the chat and in the Responses form."""
    return _count(_object(usage.get(chat)) or _object(usage.get(responses)), name)


def _when(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
