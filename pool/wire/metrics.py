"""Reading a server's Prometheus metrics: is it working on us, or are we queued behind others?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pool.wire.dialects.base import Dialect
from pool.wire.errors import ServerProblem
from pool.wire.transport import Transport

METRICS_PATH = "/metrics"


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """Requests that the server works on and that wait for a place; all users of the server together."""

    running: int
    waiting: int


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
            total = values.get(name, 0.0) + float(fields[0])
        except (IndexError, ValueError):
            continue
        if math.isfinite(total):
            values[name] = total
    return values


def load_of(values: Mapping[str, float], dialect: Dialect) -> ServerLoad | None:
    """The load that values tell of, None if the server has no such metrics."""
    running, waiting = values.get(dialect.running_metric), values.get(dialect.waiting_metric)
    if running is None or waiting is None:
        return None
    return ServerLoad(int(running), int(waiting))


async def fetch_load(transport: Transport, dialect: Dialect, timeout_s: float) -> ServerLoad | None:
    """Ask the server for its load; None if it does not tell. Never raises a `ServerProblem`.

    A request that has got its HTTP 200 but no byte may be queued or in prefill: only this tells the two apart (vLLM).
    """
    if not dialect.running_metric:
        return None
    try:
        fetched = await transport.get(METRICS_PATH, timeout_s)
    except ServerProblem:
        return None
    return load_of(read_metrics(fetched.body.decode("utf-8", "replace")), dialect)
