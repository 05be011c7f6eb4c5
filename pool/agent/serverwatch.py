"""What the server tells of itself while it works on a reply: who else waits, and how well its drafts are taken.

Its counters are those of all its users together. Only GETs, and none once a server has shown that it has no metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pool.agent.server import ServerLink
from pool.wire.errors import ServerProblem
from pool.wire.metrics import METRICS_PATH, load_of, read_metrics
from pool_tools.frozen import frozen

LOOK_SECONDS = 1.5
"""How long an answer is waited for."""

_COUNTED = ("vllm", "llamacpp")
"""Servers that count steps and accepted drafts (vLLM 0.25.1 and llama.cpp: `*:spec_decode_num_*`)."""

_LENGTH = "sglang:spec_accept_length"
"""SGLang tells the tokens of a step, of which one is not drafted."""


@frozen
class ServerNews:
    """Requests that run and that wait at the server, and drafted tokens accepted a step lately, -1 unknown."""

    running: int
    waiting: int
    accepted: float = -1.0


class ServerWatch:
    """Looks at the metrics of a session's server, again and again; link is to the one that it has now."""

    def __init__(self, link: Callable[[], ServerLink]) -> None:
        self._link = link
        self._looked_at: ServerLink | None = None
        self._has_none = False
        self._before: tuple[float, float] | None = None

    async def look(self) -> ServerNews | None:
        """What is new; None where the server does not tell. Never raises."""
        link = self._link()
        if link is not self._looked_at:
            self._looked_at, self._has_none, self._before = link, False, None
        dialect = link.dialect
        if self._has_none or not dialect.running_metric:
            return None
        try:
            fetched = await link.client.transport.get(METRICS_PATH, LOOK_SECONDS)
        except ServerProblem as problem:
            self._has_none = bool(problem.status)
            return None
        values = read_metrics(fetched.body.decode("utf-8", "replace"))
        load = load_of(values, dialect)
        if load is None:
            self._has_none = True
            return None
        return ServerNews(load.running, load.waiting, self._accepted(values))

    def _accepted(self, values: Mapping[str, float]) -> float:
        if (length := values.get(_LENGTH, 0.0)) > 1:
            return length - 1
        now = next(
            (
                (values[f"{kind}:spec_decode_num_drafts"], values[f"{kind}:spec_decode_num_accepted_tokens"])
                for kind in _COUNTED
                if f"{kind}:spec_decode_num_accepted_tokens" in values and f"{kind}:spec_decode_num_drafts" in values
            ),
            None,
        )
        before, self._before = self._before, now
        if now is None or before is None or now[0] <= before[0] or now[1] < before[1]:
            return -1.0
        return (now[1] - before[1]) / (now[0] - before[0])
