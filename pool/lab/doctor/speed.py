"""How fast is it, in brief? `pool bench` measures; this only tells a usable server from one that is not."""

from __future__ import annotations

from pool.lab.doctor.drafts import PROMPT, WRITTEN_TOKENS
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import Ask, Subject, talk

SLOW_RATE, LEAST_RATE = 10.0, 3.0
"""Tokens a second: below the first a turn takes a minute, below the second nobody waits for it."""

TURN_TOKENS = 400
"""What a turn of an agent writes: some words, a thought of a few lines and an edit."""

LEAST_WRITTEN = 16
LEAST_READ = 1_000
LEAST_READ_SECONDS = 0.05
"""Prompts that are shorter, or answered faster, say nothing about reading."""


async def speed(subject: Subject) -> Finding:
    """Look at the replies so far; write one more if none is long enough."""
    longest = _longest(subject)
    if longest is None:
        longest = await subject.ask(Ask(talk(PROMPT), max_tokens=WRITTEN_TOKENS))
    rate, reading = _rate(longest), _reading(subject)
    data = {"tokens_per_second": round(rate, 1), "prompt_tokens_per_second": round(reading, 1)}
    if not rate:
        words = "cannot be told: the server does not count, or a reply came in one piece"
        return Finding("speed", Status.WARN, words, "", "pool bench", data)
    words = f"{rate:.0f} tokens/s written" if rate >= SLOW_RATE else f"{rate:.1f} tokens/s written"
    words += f", about {reading:,.0f} tokens/s read" if reading else ""
    words += f"; a turn of {TURN_TOKENS} tokens takes {TURN_TOKENS / rate:.0f} s"
    if rate < SLOW_RATE:
        status = Status.FAIL if rate < LEAST_RATE else Status.WARN
        means = "One reply says little; pool bench tells whether it is so, and what a draft model would bring."
        return Finding("speed", status, words, means, "pool bench", data)
    return Finding("speed", Status.OK, words, data=data)


def _longest(subject: Subject) -> Reply | None:
    usable = [seen.reply for seen in subject.seen if seen.ask.stream and seen.reply.written_tokens >= LEAST_WRITTEN]
    return max(usable, key=lambda reply: reply.written_tokens, default=None)


def _rate(reply: Reply) -> float:
    """Tokens a second after the first; 0 if that cannot be told."""
    seconds = reply.seconds - reply.first
    return (reply.written_tokens - 1) / seconds if reply.written_tokens > 1 and seconds > 0 else 0.0


def _reading(subject: Subject) -> float:
    """Prompt tokens a second, by the longest prompt of which little came from the cache; 0 if there is none."""
    read = [
        (seen.reply.prompt_tokens - (seen.reply.cached or 0), seen.reply.first)
        for seen in subject.seen
        if seen.check in ("cache", "truncation")
    ]
    fresh, seconds = max(read, default=(0, 0.0))
    return fresh / seconds if fresh >= LEAST_READ and seconds >= LEAST_READ_SECONDS else 0.0


SPEED = Check(
    "speed",
    "how fast, in brief?",
    speed,
    needs=("stream",),
    means="How fast the server is is not known.",
    reads=64,
    writes=WRITTEN_TOKENS,
)
