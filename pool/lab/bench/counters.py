"""A server's counters before and after: what speculation did meanwhile, and whether others used the server too."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import field

from pool.wire.dialects import ServerKind
from pool.wire.errors import ServerProblem
from pool.wire.metrics import METRICS_PATH, read_metrics
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

FETCH_SECONDS = 5.0
FOREIGN_SHARE = 0.02
"""More generated tokens than ours by this share (and `FOREIGN_TOKENS` a reply) mean that others were served."""

FOREIGN_TOKENS = 16
"""Tokens that a server may count beyond a reply's own: drafts that were accepted after its end."""

MOST_PLACES = 256
"""Places of drafts that are believed; the deepest published draft has 16."""

_POSITION = re.compile(
    r'^(\w+):spec_decode_num_accepted_tokens_per_pos(?:_total)?\{[^}]*position="(\d+)"[^}]*\}\s+(\S+)'
)


@frozen
class Names:
    """Prometheus names of a server's counters, "" for what it does not have. The `_total` is left out."""

    generated: str = ""
    prompt: str = ""
    drafts: str = ""
    draft_tokens: str = ""
    accepted: str = ""


NAMES: Mapping[ServerKind, Names] = {
    ServerKind.VLLM: Names(
        "vllm:generation_tokens",
        "vllm:prompt_tokens",
        "vllm:spec_decode_num_drafts",
        "vllm:spec_decode_num_draft_tokens",
        "vllm:spec_decode_num_accepted_tokens",
    ),
    ServerKind.LLAMACPP: Names(
        "llamacpp:tokens_predicted",
        "llamacpp:prompt_tokens",
        "llamacpp:spec_decode_num_drafts",
        "llamacpp:spec_decode_num_draft_tokens",
        "llamacpp:spec_decode_num_accepted_tokens",
    ),
    ServerKind.SGLANG: Names("sglang:generation_tokens", "sglang:prompt_tokens"),
}
"""By recordings of vLLM 0.25.1 and 0.32.0 and llama.cpp b11549, and SGLang 0.5.23's source (which has a gauge of the
accepted length and no counters of drafts)."""


@frozen
class Counters:
    """What `/metrics` said: summed values by name, and accepted drafts by position."""

    values: Mapping[str, float] = field(default_factory=dict[str, float])
    positions: Mapping[int, float] = field(default_factory=dict[int, float])


@frozen
class Speculation:
    """What drafts brought in a stretch of time, over all requests of it.

    drafts: verification steps of single requests; draft_tokens: tokens proposed; accepted: proposed tokens that were
    kept; positions: how many were kept at the first place, the second, and so on.
    """

    drafts: int
    draft_tokens: int
    accepted: int
    positions: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """K: the deepest place that is counted, else draft tokens a step (n-gram drafts are often shorter than K)."""
        return len(self.positions) or (round(self.draft_tokens / self.drafts) if self.drafts else 0)

    @property
    def drafts_only(self) -> float:
        """Mean accepted draft tokens a step, without the token that the model itself adds."""
        return self.accepted / self.drafts if self.drafts else 0.0

    @property
    def with_bonus(self) -> float:
        """Mean tokens a step: vLLM's "mean acceptance length". One more than `drafts_only`."""
        return 1.0 + self.drafts_only

    @property
    def rate(self) -> float:
        """Share of the proposed tokens that were kept."""
        return self.accepted / self.draft_tokens if self.draft_tokens else 0.0

    @property
    def curve(self) -> tuple[float, ...]:
        """Share of the steps in which the draft at each place was kept: a_1, a_2 and so on."""
        return tuple(kept / self.drafts for kept in self.positions) if self.drafts else ()


def read_counters(text: str) -> Counters:
    """Counters from the text of `/metrics`. Lines that cannot be read are skipped."""
    positions: dict[int, float] = {}
    for line in text.splitlines():
        if found := _POSITION.match(line):
            try:
                at, value = int(found[2]), float(found[3])
            except ValueError:
                continue
            if at < MOST_PLACES and value >= 0 and math.isfinite(value):
                positions[at] = positions.get(at, 0.0) + value
    return Counters(read_metrics(text), positions)


async def fetch_counters(transport: Transport) -> Counters | None:
    """The server's counters now, None if it has none to show."""
    try:
        fetched = await transport.get(METRICS_PATH, FETCH_SECONDS)
    except ServerProblem:
        return None
    return read_counters(fetched.body.decode("utf-8", "replace"))


def speculation_between(before: Counters | None, after: Counters | None, kind: ServerKind) -> Speculation | None:
    """What drafts brought between two looks; None if the server does not count, or counted no drafts."""
    names = NAMES.get(kind)
    if before is None or after is None or names is None or not names.drafts:
        return None
    drafts = _rise(before, after, names.drafts)
    if not drafts or drafts < 0:  # Below 0: the server was started anew.
        return None
    places = range(max(after.positions, default=-1) + 1)
    positions = tuple(round(after.positions.get(at, 0) - before.positions.get(at, 0)) for at in places)
    return Speculation(
        drafts, _rise(before, after, names.draft_tokens) or 0, _rise(before, after, names.accepted) or 0, positions
    )


def foreign_between(
    before: Counters | None, after: Counters | None, kind: ServerKind, ours: int, replies: int
) -> int | None:
    """Tokens that the server generated for others meanwhile; 0 for none, None if it cannot be told."""
    names = NAMES.get(kind)
    if before is None or after is None or names is None or not ours:
        return None
    counted = _rise(before, after, names.generated)
    if counted is None:
        return None
    more = counted - ours
    return more if more > max(FOREIGN_SHARE * ours, FOREIGN_TOKENS * replies) else 0


def _rise(before: Counters, after: Counters, name: str) -> int | None:
    if name not in after.values:
        return None
    return round(after.values[name] - before.values.get(name, 0.0))
