"""Counters in Prometheus' text form, under the names that vLLM 0.25.1 uses (recordings `metrics-vllm-0.25.1*.txt`)."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field

from pool.sim.cache import BLOCK_TOKENS

SECONDS_BOUNDS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0)
TOKENS_BOUNDS = (1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0)

_COUNTERS = (
    "vllm:num_preemptions",
    "vllm:prefix_cache_queries",
    "vllm:prefix_cache_hits",
    "vllm:prompt_tokens",
    "vllm:prompt_tokens_cached",
    "vllm:generation_tokens",
)
_DRAFT_COUNTERS = (
    "vllm:spec_decode_num_drafts",
    "vllm:spec_decode_num_draft_tokens",
    "vllm:spec_decode_num_accepted_tokens",
)
_SECONDS = (
    "vllm:time_to_first_token_seconds",
    "vllm:inter_token_latency_seconds",
    "vllm:request_time_per_output_token_seconds",
    "vllm:e2e_request_latency_seconds",
    "vllm:request_queue_time_seconds",
    "vllm:request_prefill_time_seconds",
    "vllm:request_decode_time_seconds",
)
_TOKENS = ("vllm:iteration_tokens_total", "vllm:request_prompt_tokens", "vllm:request_generation_tokens")
_REASONS = ("stop", "length", "abort", "error", "repetition")


@dataclass(slots=True)
class _Histogram:
    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list[int])
    total: float = 0.0
    number: int = 0

    def __post_init__(self) -> None:
        self.counts = [0] * len(self.bounds)

    def observe(self, value: float) -> None:
        self.total += value
        self.number += 1
        for at, bound in enumerate(self.bounds):
            self.counts[at] += value <= bound


class Metrics:
    """All counters of one server. drafts is K of speculative decoding; with 0 its counters are absent, as in vLLM."""

    def __init__(self, model: str, drafts: int) -> None:
        self._labels = f'engine="0",model_name="{model}"'
        self._drafts = drafts
        self._created = time.time()
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._accepted_at = [0] * drafts
        self._finished: dict[str, int] = dict.fromkeys(_REASONS, 0)
        self._histograms = {name: _Histogram(SECONDS_BOUNDS) for name in _SECONDS}
        self._histograms |= {name: _Histogram(TOKENS_BOUNDS) for name in _TOKENS}
        self.running = 0
        self.waiting = 0
        self.tokens_in_cache_share = 0.0

    def prompt(self, tokens: int, cached: int) -> None:
        """A prompt was taken up."""
        self._counts["vllm:prefix_cache_queries"] += tokens
        self._counts["vllm:prefix_cache_hits"] += cached
        self._counts["vllm:prompt_tokens"] += tokens
        self._counts["vllm:prompt_tokens_cached"] += cached
        self._histograms["vllm:request_prompt_tokens"].observe(tokens)

    def step(self, tokens: int) -> None:
        """A decoding step brought tokens."""
        self._counts["vllm:generation_tokens"] += tokens
        self._histograms["vllm:iteration_tokens_total"].observe(tokens)
        if not self._drafts:
            return
        self._counts["vllm:spec_decode_num_drafts"] += 1
        self._counts["vllm:spec_decode_num_draft_tokens"] += self._drafts
        self._counts["vllm:spec_decode_num_accepted_tokens"] += tokens - 1
        for position in range(tokens - 1):
            self._accepted_at[position] += 1

    def seconds(self, name: str, value: float) -> None:
        """A time was measured; name is without `vllm:` and `_seconds`."""
        self._histograms[f"vllm:{name}_seconds"].observe(value)

    def finish(self, reason: str, tokens: int) -> None:
        """A reply ended by itself. An abort is not counted, as on the recorded server."""
        self._finished[reason] += 1
        self._histograms["vllm:request_generation_tokens"].observe(tokens)

    def render(self) -> str:
        """The text of `GET /metrics`."""
        lines: list[str] = []
        for name in (*_COUNTERS, *(_DRAFT_COUNTERS if self._drafts else ())):
            self._counter(lines, name, {"": self._counts[name]})
        if self._drafts:
            positions = {f'position="{at}"': float(n) for at, n in enumerate(self._accepted_at)}
            self._counter(lines, "vllm:spec_decode_num_accepted_tokens_per_pos", positions)
        cached = self._counts["vllm:prompt_tokens_cached"]
        sources = {
            'source="local_compute"': self._counts["vllm:prompt_tokens"] - cached,
            'source="local_cache_hit"': cached,
            'source="external_kv_transfer"': 0.0,
        }
        self._counter(lines, "vllm:prompt_tokens_by_source", sources)
        reasons = {f'finished_reason="{reason}"': float(n) for reason, n in self._finished.items()}
        self._counter(lines, "vllm:request_success", reasons)
        self._gauges(lines)
        for name, histogram in self._histograms.items():
            self._histogram(lines, name, histogram)
        return "\n".join(lines) + "\n"

    def _sample(self, name: str, value: float, label: str = "") -> str:
        return f"{name}{{{self._labels}{',' if label else ''}{label}}} {value}"

    def _counter(self, lines: list[str], name: str, values: dict[str, float]) -> None:
        lines.append(f"# TYPE {name}_total counter")
        lines.extend(self._sample(f"{name}_total", value, label) for label, value in values.items())
        lines.append(f"# TYPE {name}_created gauge")
        lines.extend(self._sample(f"{name}_created", self._created, label) for label in values)

    def _gauges(self, lines: list[str]) -> None:
        gauges = (
            ("vllm:num_requests_running", {"": self.running}),
            ("vllm:num_requests_waiting", {"": self.waiting}),
            ("vllm:num_requests_waiting_by_reason", {'reason="capacity"': self.waiting, 'reason="deferred"': 0}),
            ("vllm:kv_cache_usage_perc", {"": self.tokens_in_cache_share}),
            ("vllm:cache_config_info", {f'block_size="{BLOCK_TOKENS}",enable_prefix_caching="True"': 1}),
        )
        for name, values in gauges:
            lines.append(f"# TYPE {name} gauge")
            lines.extend(self._sample(name, float(value), label) for label, value in values.items())

    def _histogram(self, lines: list[str], name: str, histogram: _Histogram) -> None:
        lines.append(f"# TYPE {name} histogram")
        for bound, count in zip(histogram.bounds, histogram.counts, strict=True):
            lines.append(self._sample(f"{name}_bucket", float(count), f'le="{bound}"'))
        lines.append(self._sample(f"{name}_bucket", float(histogram.number), 'le="+Inf"'))
        lines.append(self._sample(f"{name}_count", float(histogram.number)))
        lines.append(self._sample(f"{name}_sum", histogram.total))
