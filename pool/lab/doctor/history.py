"""Do earlier thoughts reach the model when they are sent back?

A thought with a marker is put into the history, and the prompt is looked at: as text where the server hands it out
(vLLM), else by its length in tokens. `/tokenize` is asked as well, but is no witness: vLLM's drops `reasoning_content`,
which its chat call takes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pool.lab.doctor.calling import TOOL, TOOL_ARGUMENT, TOOL_NAME
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import SYSTEM_TEXT, Ask, Subject
from pool.messages import Message, ReasoningField, Role, ToolCall, system, tool_result, user
from pool.wire.dialects import TokenizerKind
from pool.wire.tokens import count_exact, raw_tokens

MARK = "quillwort"
MARKER = f"The word to remember is {MARK}. " + " ".join(
    f"Thought number {n} is only here to make this thought longer." for n in range(1, 13)
)
"""A thought of about 200 tokens."""

LEAST_SHARE = 0.5
"""Share of the marker's estimated tokens by which the prompt must grow if the thought is in it."""

FIELDS = (ReasoningField.REASONING, ReasoningField.REASONING_CONTENT)
_CALL_ID = "call_1"
_SENT = {
    "reasoning": (ReasoningField.REASONING,),
    "thinking": (ReasoningField.REASONING,),
    "reasoning_content": (ReasoningField.REASONING_CONTENT,),
    "": FIELDS,
}
"""Fields in which a run sends a thought back, by the field in which it came."""


async def history(subject: Subject) -> Finding:
    """Send a thought back in each field, inside a task; in the field that works also before a new prompt."""
    bare = await subject.ask(_ask(subject, ReasoningField.NONE))
    arrived = {field.value: _arrived(await subject.ask(_ask(subject, field)), bare) for field in _fields(subject)}
    sent = _sent(subject)
    working = next((name for name in sent if arrived[name]), "")
    kept = await _kept(subject, working) if working else None
    data: dict[str, Any] = {
        "arrived": arrived,
        "sent": list(sent),
        "kept_after_next_prompt": kept,
        "by": "prompt text" if bare.prompt_text else "prompt tokens",
        "tokenize": await _tokenize(subject),
    }
    if all(value is None for value in arrived.values()):
        words = "cannot be told: the server neither counts the prompt nor shows it"
        means = "If earlier thoughts do not reach the model, it stops thinking after some turns."
        return Finding("history", Status.WARN, words, means, subject.remedies.usage, data)
    if working and kept is False:
        words = f"{working} reaches the prompt inside a task, but is dropped once you write the next prompt"
        means = (
            "The template rewrites what the server has read, so a part of it is read again after each prompt of yours."
        )
        return Finding("history", Status.WARN, words, means, subject.remedies.history, data)
    if working:
        also = [name for name, there in arrived.items() if there and name != working]
        words = f"{working} reaches the prompt, as Pool sends it{f'; so does {also[0]}' if also else ''}"
        return Finding("history", Status.OK, words, data=data)
    return _lost(subject, arrived, sent, data)


def _lost(subject: Subject, arrived: Mapping[str, bool | None], sent: tuple[str, ...], data: dict[str, Any]) -> Finding:
    other = next((name for name, there in arrived.items() if there), "")
    if other:
        words = f"Pool sends thoughts back as {' and '.join(sent)}, but only {other} reaches the prompt"
        means = "Earlier thoughts never reach the model, and it stops thinking after some turns."
        return Finding("history", Status.FAIL, words, means, subject.remedies.upgrade, data)
    words = "a thought that is sent back does not reach the prompt"
    if subject.thought_field == "":
        means = "This model did not think in the checks before; if it never does, nothing is lost."
        return Finding("history", Status.WARN, words, means, subject.remedies.history, data)
    means = "Earlier thoughts never reach the model, and it stops thinking after some turns."
    return Finding("history", Status.FAIL, words, means, subject.remedies.history, data)


def _sent(subject: Subject) -> tuple[str, ...]:
    """Names of the fields in which a run would send thoughts back."""
    own = subject.info.dialect.reasoning_history
    if own is ReasoningField.THINKING:
        sent = (own,)
    elif subject.thought_field is not None:
        sent = _SENT.get(subject.thought_field, FIELDS)
    else:
        sent = (own,) if own in FIELDS else FIELDS
    return tuple(field.value for field in sent)


def _fields(subject: Subject) -> tuple[ReasoningField, ...]:
    """The fields that this server's API could take a thought in."""
    own = subject.info.dialect.reasoning_history
    return (own,) if own is ReasoningField.THINKING else FIELDS


def _ask(subject: Subject, field: ReasoningField, *, next_prompt: bool = False) -> Ask:
    """A task of one call with its result; the thought before the call comes in field."""
    arguments = json.dumps({TOOL_ARGUMENT: "alpha.txt"})
    thought = "" if field is ReasoningField.NONE else MARKER
    messages = (
        system(SYSTEM_TEXT),
        user("Read the file alpha.txt."),
        Message(Role.ASSISTANT, "", thought, field, (ToolCall(_CALL_ID, TOOL_NAME, arguments),)),
        tool_result(_CALL_ID, "1|hello", TOOL_NAME),
    )
    if next_prompt:
        messages += (Message(Role.ASSISTANT, "The file says hello."), user("Thank you. Say goodbye."))
    # Other servers may refuse a field that they do not know.
    shows = subject.info.dialect.tokenizer is TokenizerKind.CHAT
    extra = {"return_prompt_text": True} if shows else {}
    return Ask(messages, max_tokens=1, thinking=True, tools=(TOOL,), extra=extra)


async def _kept(subject: Subject, name: str) -> bool | None:
    bare = await subject.ask(_ask(subject, ReasoningField.NONE, next_prompt=True))
    return _arrived(await subject.ask(_ask(subject, ReasoningField(name), next_prompt=True)), bare)


def _arrived(reply: Reply, bare: Reply) -> bool | None:
    """Whether the marker is in the prompt of reply; bare is the same without it. None if that cannot be told."""
    if reply.prompt_text:
        return MARK in reply.prompt_text
    if not reply.prompt_tokens or not bare.prompt_tokens:
        return None
    return reply.prompt_tokens - bare.prompt_tokens >= LEAST_SHARE * raw_tokens(MARKER.encode())


async def _tokenize(subject: Subject) -> dict[str, int | None]:
    """By how many tokens each field lengthens the prompt according to the server's tokenizer address."""
    counts: dict[str, int | None] = {}
    bare = await _counted(subject, ReasoningField.NONE)
    for field in _fields(subject):
        count = await _counted(subject, field) if bare is not None else None
        counts[field.value] = None if count is None or bare is None else count - bare
    return counts


async def _counted(subject: Subject, field: ReasoningField) -> int | None:
    body = json.loads(subject.body(_ask(subject, field)))
    exact = await count_exact(subject.transport, subject.info, body)
    return None if exact is None else exact.tokens


HISTORY = Check(
    "history",
    "do earlier thoughts arrive?",
    history,
    needs=("stream",),
    means="A history with a tool call, its result and a thought is what every run sends.",
    reads=5 * 768,
    writes=5,
)
