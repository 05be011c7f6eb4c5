"""One look at a server's `/metrics`, and what two looks say together. vLLM, SGLang and llama.cpp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pool.lab.bench.counters import Counters, Speculation, speculation_between
from pool.wire.dialects import ServerKind

WINDOW_SECONDS = 60.0
"""Shares (cache hits, kept drafts) are of so long: over one second they say nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """Prometheus names of a kind of server, "" for what it does not tell. Counters have lost their `_total`.

    cached, asked: prompt tokens from the cache, and all of which it was asked. preempted: requests thrown out of a full
    cache since the start. hit_share and length are gauges where there are no counters.
    """

    kind: ServerKind
    prefix: str
    running: str
    waiting: str
    written: str
    read: str
    usage: str = ""
    cached: str = ""
    asked: str = ""
    preempted: str = ""
    hit_share: str = ""
    length: str = ""
    write_rate: str = ""


SOURCES = (
    Source(
        ServerKind.VLLM,
        "vllm:",
        running="vllm:num_requests_running",
        waiting="vllm:num_requests_waiting",
        written="vllm:generation_tokens",
        read="vllm:prompt_tokens",
        usage="vllm:kv_cache_usage_perc",
        cached="vllm:prefix_cache_hits",
        asked="vllm:prefix_cache_queries",
        preempted="vllm:num_preemptions",
    ),
    Source(
        ServerKind.SGLANG,
        "sglang:",
        running="sglang:num_running_reqs",
        waiting="sglang:num_queue_reqs",
        written="sglang:generation_tokens",
        read="sglang:prompt_tokens",
        usage="sglang:token_usage",
        preempted="sglang:num_retracted_reqs",
        hit_share="sglang:cache_hit_rate",
        length="sglang:spec_accept_length",
        write_rate="sglang:gen_throughput",
    ),
    Source(
        ServerKind.LLAMACPP,
        "llamacpp:",
        running="llamacpp:requests_processing",
        waiting="llamacpp:requests_deferred",
        written="llamacpp:tokens_predicted",
        read="llamacpp:prompt_tokens",
        cached="llamacpp:prompt_tokens_cached",
    ),
)
"""By recordings of vLLM 0.25.1 and 0.32.0 and llama.cpp b11549, and SGLang's documentation. llama.cpp counts cached
prompt tokens apart from those that it read, and tells neither the use of its cache nor preemptions."""


def source_of(counters: Counters) -> Source | None:
    """The kind of server that such metrics are of, None for another."""
    return next((s for s in SOURCES if any(name.startswith(s.prefix) for name in counters.values)), None)


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen once; at is in seconds on a clock that never goes back."""

    at: float
    counters: Counters


@dataclass(frozen=True, slots=True)
class Readings:
    """The state now. Rates in tokens a second since the look before; shares over the window; None: not told.

    rereads: whether hits is over the window (else since the server's start). speculation likewise; length is what a
    server tells itself (bonus included) that counts no drafts. preempted is since the start, lately in the window.
    """

    kind: ServerKind
    running: int | None
    waiting: int | None
    usage: float | None
    hits: float | None
    write_rate: float | None
    read_rate: float | None
    preempted: int | None
    lately_preempted: int | None
    speculation: Speculation | None
    length: float | None
    window: float


def readings(looks: Sequence[Look], window_seconds: float = WINDOW_SECONDS) -> Readings | None:
    """What looks, in order of time, say of now; None if the last one is of no server that is known."""
    if not looks:
        return None
    now = looks[-1]
    source = source_of(now.counters)
    if source is None:
        return None
    same = _since_restart(looks, source)
    oldest = next(look for look in same if look.at >= now.at - window_seconds)
    previous = same[-2] if len(same) > 1 else None
    values = now.counters.values
    preempted = _rise(None, now, source.preempted)
    drafted = speculation_between(oldest.counters, now.counters, source.kind) if len(same) > 1 else None
    return Readings(
        kind=source.kind,
        running=_whole(values, source.running),
        waiting=_whole(values, source.waiting),
        usage=_part(values, source.usage),
        hits=_hits(oldest if len(same) > 1 else None, now, source),
        write_rate=_rate(previous, now, source.written, values.get(source.write_rate)),
        read_rate=_rate(previous, now, source.read, None),
        preempted=None if preempted is None else int(preempted),
        lately_preempted=_lately(oldest, now, source),
        speculation=drafted or speculation_between(Counters(), now.counters, source.kind),
        length=values.get(source.length) or None,
        window=now.at - oldest.at,
    )


def _since_restart(looks: Sequence[Look], source: Source) -> Sequence[Look]:
    """The looks at the server that runs now: a counter that fell means that it was started anew."""
    begin = 0
    for at in range(1, len(looks)):
        before, after = (look.counters.values.get(source.written, 0.0) for look in looks[at - 1 : at + 1])
        if after < before or source_of(looks[at - 1].counters) is not source:
            begin = at
    return looks[begin:]


def _hits(before: Look | None, now: Look, source: Source) -> float | None:
    """Share of prompt tokens from the cache: in the window, else since the start, else as the server says it."""
    if source.hit_share:
        return _part(now.counters.values, source.hit_share)
    for since in (before, None):
        cached, asked = _rise(since, now, source.cached), _rise(since, now, source.asked or source.read)
        if cached is None or asked is None:
            return None
        whole = asked if source.asked else asked + cached
        if whole > 0:
            return min(1.0, cached / whole)
    return None


def _rate(before: Look | None, now: Look, name: str, told: float | None) -> float | None:
    if told is not None:
        return told
    risen = _rise(before, now, name)
    if before is None or risen is None or now.at <= before.at:
        return None
    return risen / (now.at - before.at)


def _lately(oldest: Look, now: Look, source: Source) -> int | None:
    risen = _rise(oldest, now, source.preempted)
    return None if risen is None else int(risen)


def _rise(before: Look | None, now: Look, name: str) -> float | None:
    if not name or name not in now.counters.values:
        return None
    return now.counters.values[name] - (before.counters.values.get(name, 0.0) if before else 0.0)


def _whole(values: Mapping[str, float], name: str) -> int | None:
    return int(values[name]) if name in values else None


def _part(values: Mapping[str, float], name: str) -> float | None:
    """A share that the server tells, None if it is none: more than the whole is no share."""
    told = values.get(name)
    return told if told is not None and told <= 1.0 else None
