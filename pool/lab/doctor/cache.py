"""Is a prompt that the server has read before read again?"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.reply import Reply, duration
from pool.lab.doctor.subject import Ask, Subject
from pool.messages import Message, system, user
from pool.wire.errors import ServerProblem
from pool.wire.metrics import METRICS_PATH, read_metrics
from pool.wire.tokens import ASCII_BYTES_PER_TOKEN
from pool_tools.frozen import frozen

PROMPT_TOKENS = 1_500
LEAST_SHARE = 0.5
"""Share of the prompt that must come from the cache the second time. Caches keep whole blocks, some of 1,000 tokens."""

FASTER_SHARE = 0.6
"""If the first token of the second reply takes at most this share of the first's time, a cache is likely."""

LEAST_SECONDS = 0.2
"""Times to the first token below this say nothing about reading."""

METRICS_SECONDS = 3.0
HITS, QUERIES = "vllm:prefix_cache_hits", "vllm:prefix_cache_queries"


@frozen
class Twice:
    """The same prompt sent twice. hits: by how much the server's counter of cached tokens rose, None if unknown."""

    first: Reply
    second: Reply
    hits: int | None

    @property
    def share_told(self) -> float | None:
        """Share of the second prompt that usage says came from the cache."""
        return _share(self.second.cached, self.second.prompt_tokens)

    @property
    def share_counted(self) -> float | None:
        """The same share by the server's counters, in which all its users are mixed."""
        return _share(self.hits, self.second.prompt_tokens or PROMPT_TOKENS)

    @property
    def slow_enough(self) -> bool:
        """Whether reading the prompt took long enough to compare times."""
        return self.first.first >= LEAST_SECONDS

    @property
    def speed_up(self) -> float:
        """Second time to the first token as a share of the first."""
        return self.second.first / self.first.first if self.first.first else 1.0


async def cache(subject: Subject) -> Finding:
    """Send one prompt twice and look at usage, then at counters, then at times."""
    twice = await _twice(subject)
    data = _data(twice)
    times = f"first token after {duration(twice.first.first)}, then {duration(twice.second.first)}"
    told = twice.share_told
    if told is not None and told >= LEAST_SHARE:
        cached = f"{twice.second.cached:,} of {twice.second.prompt_tokens:,}"
        return Finding("cache", Status.OK, f"the second time {cached} tokens came from the cache; {times}", data=data)
    if told is not None or twice.share_counted == 0:
        words = f"the same prompt was read again, {twice.second.cached or 0:,} tokens of it from the cache; {times}"
        means = "Every turn reads the whole conversation anew: a minute of waiting at 40,000 tokens on a slow server."
        return Finding("cache", Status.FAIL, words, means, subject.remedies.caching, data)
    means = "Pool cannot show you when a prompt is read anew, nor what a switch of model or thinking costs."
    if twice.share_counted is not None and twice.share_counted >= LEAST_SHARE:
        words = (
            f"it works (the server's counters rose by {twice.hits:,} tokens), but is not told by the server in usage"
        )
    elif twice.slow_enough and twice.speed_up <= FASTER_SHARE:
        words = f"not told by the server; by the times it seems to work ({times})"
    else:
        words = f"not told by the server, and the times do not show it ({times})"
    return Finding("cache", Status.WARN, words, means, subject.remedies.cached, data)


async def _twice(subject: Subject) -> Twice:
    ask = Ask(_long_prompt(_length(subject)), max_tokens=1)
    first = await subject.ask(ask)
    before = await _counters(subject)
    second = await subject.ask(ask)
    after = await _counters(subject)
    known = QUERIES in before and QUERIES in after and after[QUERIES] > before[QUERIES]
    return Twice(first, second, round(after.get(HITS, 0.0) - before.get(HITS, 0.0)) if known else None)


def _length(subject: Subject) -> int:
    """Tokens of the prompt: half the window if that is small."""
    return min(PROMPT_TOKENS, subject.info.window // 2) if subject.info.window else PROMPT_TOKENS


def _long_prompt(tokens: int) -> tuple[Message, ...]:
    """A prompt of about so many tokens that no server has seen: it begins with random letters."""
    lines, size, number = [f"Notes of the day {secrets.token_hex(8)}."], 0, 0
    while size < tokens * ASCII_BYTES_PER_TOKEN:
        number += 1
        lines.append(f"Note {number}: the shelf holds {number * 7 % 50} boxes of paper and {number % 9} of pens.")
        size += len(lines[-1]) + 1
    return system("\n".join(lines)), user("Say yes.")


async def _counters(subject: Subject) -> Mapping[str, float]:
    try:
        fetched = await subject.transport.get(METRICS_PATH, METRICS_SECONDS)
    except ServerProblem:
        return {}
    return read_metrics(fetched.body.decode("utf-8", "replace"))


def _share(part: int | None, whole: int) -> float | None:
    return None if part is None or not whole else part / whole


def _data(twice: Twice) -> dict[str, Any]:
    return {
        "prompt_tokens": twice.second.prompt_tokens,
        "cached_first": twice.first.cached,
        "cached_second": twice.second.cached,
        "counted_hits": twice.hits,
        "first_seconds": [round(twice.first.first, 4), round(twice.second.first, 4)],
    }


CACHE = Check(
    "cache",
    "is a known prompt read again?",
    cache,
    needs=("stream",),
    means="Whether a conversation is read anew at each turn is not known.",
    reads=2 * 2_048,
    writes=2,
)
