"""Reading a server's Prometheus metrics: is it working on us, or are we queued behind others?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from pool.wire.dialects.base import Dialect
from pool.wire.errors import ServerProblem
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

METRICS_PATH = "/metrics"


@frozen
class ServerLoad:
    """Requests that the server works on and that wait for a place; all users of the server together.

    preemptions counts requests that were thrown out of a full cache since the server started, 0 if it does not tell.
    """

    running: int
    waiting: int
    preemptions: int = 0


def read_metrics(text: str) -> dict[str, float]:
    """Each metric's value, summed over its labels. Counters lose `_total`; lines that cannot be read are skipped."""
    values: dict[str, float] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        head, brace, rest = line.partition("{")
        fields = rest.rpartition("}")[2].split() if brace else line.split()[1:]
        name = (head if brace else line.split()[0]).strip().removesuffix("_total")
        try:
            value = float(fields[0])
        except (IndexError, ValueError):
            continue
        total = values.get(name, 0.0) + value
        # Requests, tokens and shares: none of what is read here can be below nothing.
        if value >= 0 and math.isfinite(total):
            values[name] = total
    return values


def load_of(values: Mapping[str, float], dialect: Dialect) -> ServerLoad | None:
    """The load that values tell of, None if the server has no such metrics."""
    running, waiting = values.get(dialect.running_metric), values.get(dialect.waiting_metric)
    if running is None or waiting is None:
        return None
    return ServerLoad(int(running), int(waiting), int(values.get(dialect.preemption_metric, 0)))


async def fetch_load(transport: Transport, dialect: Dialect, timeout_s: float) -> ServerLoad | None:
    """Ask the server for its load; None if it does not tell. Never raises a `ServerProblem`.

    A request that has got its HTTP 200 but no byte may be queued or in prefill: only this tells the two apart (vLLM).
    """
    return await fetch_load_of_any(transport, (dialect,), timeout_s) if dialect.running_metric else None


async def fetch_load_of_any(transport: Transport, dialects: Iterable[Dialect], timeout_s: float) -> ServerLoad | None:
    """As `fetch_load`, for a server of which it is not known which of these it is."""
    try:
        fetched = await transport.get(METRICS_PATH, timeout_s)
    except ServerProblem:
        return None
    values = read_metrics(fetched.body.decode("utf-8", "replace"))
    loads = (load_of(values, dialect) for dialect in dialects if dialect.running_metric)
    return next((load for load in loads if load is not None), None)
