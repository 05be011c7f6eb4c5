"""What a simulated server can be told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from pool.sim.version import VERSION

DEFAULT_MODEL = "laguna-sim-rule-based"
DEFAULT_WINDOW_TOKENS = 262_144
DEFAULT_SEQUENCES = 32


@dataclass(frozen=True, slots=True)
class StepSizes:
    """How many tokens a decoding step brings: always low (if low == high), or drawn from low to high.

    More than one a step is what accepted draft tokens of speculative decoding look like: high is K + 1.
    """

    low: int = 1
    high: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ValueError(f"tokens a step must be N or LOW-HIGH, 1 or more: got {self.low}-{self.high}")

    @property
    def drafts(self) -> int:
        """K, the number of draft tokens a step; 0 means that there is no speculation."""
        return self.high - 1

    def draw(self, seed: int, request: int) -> Iterator[int]:
        """Sizes for one request, without end; the same for the same seed and request number."""
        source = random.Random(seed * 1_000_003 + request)
        while True:
            yield source.randint(self.low, self.high)


def parse_step_sizes(text: str) -> StepSizes:
    """`4` or `1-8`. Raises ValueError for anything else."""
    low, _, high = text.partition("-")
    return StepSizes(int(low), int(high or low))


@dataclass(frozen=True, slots=True)
class SimSettings:
    """Everything about a simulated server.

    host, port: where it listens; port 0 takes a free one. model: the name it serves.
    rate, prefill_rate: tokens per second of writing and of reading the uncached prompt; 0 is as fast as it can.
    step_ms: milliseconds of each decoding step, however many tokens it brings, as on a real server; it counts instead
    of rate, 0 leaves it to that.
    steps, seed: tokens a decoding step. max_model_len: the window in tokens. max_num_seqs: replies at a time, others
    wait. api_key: asked for below /v1 if not empty. prompt_token_details: whether usage tells the cached tokens
    (vLLM's `--enable-prompt-tokens-details`). reasoning_config: whether `thinking_token_budget` is accepted.
    template_thinks: what the chat template does when `enable_thinking` is absent. version: the one that it tells.
    capture_sizes: recorded CUDA graphs, told by `/server_info` as in vLLM's development mode; none: no such address.
    faults: as on the command line,
    `NAME[:ARG][@N|@N-M]`. script: raw texts that the model says instead of deciding, the last one again and again.
    cheat: how the model earns what it did not (`pool.sim.cheats`), "" for an honest one.
    """

    host: str = "127.0.0.1"
    port: int = 0
    model: str = DEFAULT_MODEL
    rate: float = 0.0
    prefill_rate: float = 0.0
    step_ms: float = 0.0
    steps: StepSizes = StepSizes()
    seed: int = 0
    max_model_len: int = DEFAULT_WINDOW_TOKENS
    max_num_seqs: int = DEFAULT_SEQUENCES
    api_key: str = ""
    prompt_token_details: bool = True
    reasoning_config: bool = False
    template_thinks: bool = True
    version: str = VERSION
    capture_sizes: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    cheat: str = ""
