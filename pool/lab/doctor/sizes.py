"""Is what is sent what is read: are tokens counted alike, and is a long prompt read whole?"""

from __future__ import annotations

import json
import secrets

from pool.lab.doctor.calling import TOOL
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.remedies import again, export
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import Ask, Subject, talk
from pool.messages import Message
from pool.wire.dialects import TokenizerKind
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.tokens import ASCII_BYTES_PER_TOKEN, count_exact, raw_tokens

LONG_TOKENS = 5_000
"""More than the 4,096 to which some servers cut a prompt unless told otherwise."""

LONG_SHARE = 0.75
"""Of a small window, the share that the long prompt takes."""

ANSWER_TOKENS = 16
LEAST_READ_SHARE = 0.6
"""Of the estimated tokens of a prompt, what the server must count at least: estimates are that good."""

TOLERANCE_TOKENS = 8
"""By how much the tokenizer's count and usage may differ: a start token, or the opening of the reply."""

FAR_OFF, OFF = 0.6, 0.3
"""Error of Pool's estimates, as a share of the server's counts, that is red, and that is named."""

_CHAR = 100


async def tokens(subject: Subject) -> Finding:
    """Compare usage with the server's tokenizer, and Pool's estimates with usage."""
    ask = Ask(talk("Say yes."), max_tokens=1, tools=(TOOL,))
    reply = await subject.ask(ask)
    exact = await count_exact(subject.transport, subject.info, json.loads(subject.body(ask)))
    counted, sizes = reply.prompt_tokens, subject.sizes
    data = {"tokenizer": exact.tokens if exact else None, "usage": counted}
    if not counted:
        words = "the server does not count prompts"
        means = "Pool estimates them from their bytes, and cannot correct itself."
        return Finding("tokens", Status.WARN, words, means, subject.remedies.usage, data)
    off = sizes.estimated / sizes.counted - 1
    data["estimate_error_percent"] = round(off * _CHAR)
    estimate = f"Pool's estimates from bytes are off by {off:+.0%}"
    if exact is not None and abs(exact.tokens - counted) > TOLERANCE_TOKENS:
        words = f"the server's tokenizer counts {exact.tokens} tokens where usage says {counted}; {estimate}"
        means = "One of them is wrong, so Pool cannot tell when the window is full. Ask the server itself, no gateway."
        return Finding("tokens", Status.FAIL, words, means, export("POOL_BASE_URL", "http://HOST:PORT/v1"), data)
    agrees = "the server's tokenizer agrees with usage" if exact is not None else "there is no tokenizer to ask"
    if off > FAR_OFF and exact is not None:
        words = f"the chat template leaves out much of what is sent: {estimate}, and {agrees}"
        means = "System messages or tools do not reach the model, and they are what Pool works by."
        return Finding("tokens", Status.FAIL, words, means, subject.remedies.tools, data)
    if abs(off) > FAR_OFF:
        means = "Counts as different as that come from a gateway with a tokenizer of its own; the window is misjudged."
        line = export("POOL_BASE_URL", "http://HOST:PORT/v1")
        return Finding("tokens", Status.FAIL, f"{estimate}; {agrees}", means, line, data)
    if abs(off) > OFF:
        means = "Only the first request of a session is judged by it; then the server's counts set it right."
        return Finding("tokens", Status.WARN, f"{estimate}; {agrees}", means, again("tokens"), data)
    return Finding("tokens", Status.OK, f"{agrees}; {estimate}", data=data)


async def truncation(subject: Subject) -> Finding:
    """Send a prompt of several thousand tokens that begins with a word, and see whether its beginning was read."""
    word = f"heron-{secrets.token_hex(3)}"
    messages = _long(_length(subject), word)
    shows = subject.info.dialect.tokenizer is TokenizerKind.CHAT
    extra = {"return_prompt_text": True} if shows else {}
    try:
        reply = await subject.ask(Ask(messages, max_tokens=ANSWER_TOKENS, extra=extra))
    except ServerProblem as problem:
        if problem.kind is not ProblemKind.OVERFLOW:
            raise
        words = "a prompt that is too long is refused in words; nothing is cut"
        return Finding("truncation", Status.OK, words, data={"refused": str(problem)})
    estimated = round(raw_tokens("".join(m.content for m in messages).encode()))
    recalled = word in reply.content
    data = {"estimated": estimated, "counted": reply.prompt_tokens, "recalled": recalled}
    if _cut(reply, word, estimated):
        words = f"of a prompt of about {estimated:,} tokens the server read {reply.prompt_tokens:,}, and said nothing"
        means = "Long conversations lose their beginning: first Pool's instructions and your task."
        return Finding("truncation", Status.FAIL, words, means, subject.remedies.window, data)
    if not reply.prompt_tokens and not recalled:
        words = "cannot be told: the server does not count, and the model did not say the word at the beginning"
        return Finding("truncation", Status.WARN, words, "", again("truncation"), data)
    said = "and the model knew its first line" if recalled else "what it began with, the model did not say"
    counted = f"{reply.prompt_tokens:,} tokens" if reply.prompt_tokens else "the prompt"
    return Finding("truncation", Status.OK, f"{counted} were read whole; {said}", data=data)


def _cut(reply: Reply, word: str, estimated: int) -> bool:
    if reply.prompt_tokens:
        return reply.prompt_tokens < LEAST_READ_SHARE * estimated
    return bool(reply.prompt_text) and word not in reply.prompt_text


def _length(subject: Subject) -> int:
    window = subject.environment.window or subject.info.window
    return min(LONG_TOKENS, int(window * LONG_SHARE)) if window else LONG_TOKENS


def _long(length: int, word: str) -> tuple[Message, ...]:
    lines, size, number = [f"The word of the day is {word}."], 0, 0
    while size < length * ASCII_BYTES_PER_TOKEN:
        number += 1
        lines.append(f"Entry {number}: the boat carried {number * 11 % 70} crates of tea and {number % 7} of rope.")
        size += len(lines[-1]) + 1
    lines.append("What is the word of the day? Answer with that word only.")
    # All of it in the user's message: there are templates that leave system messages out.
    return talk("\n".join(lines))


TOKENS = Check(
    "tokens",
    "are tokens counted alike?",
    tokens,
    needs=("stream",),
    means="Whether counts can be trusted is not known.",
    reads=256,
    writes=1,
)
TRUNCATION = Check(
    "truncation",
    "is a long prompt read whole?",
    truncation,
    needs=("stream",),
    means="Whether long conversations are read whole is not known.",
    reads=6_500,
    writes=ANSWER_TOKENS,
)
