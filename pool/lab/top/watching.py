"""Looking at a server again and again: looks, readings, and what to say when it does not answer."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pool.jsonable import plain
from pool.lab.bench.counters import read_counters
from pool.lab.top.board import Server
from pool.lab.top.gauges import WINDOW_SECONDS, Look, Readings, readings
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import ServerInfo
from pool.wire.metrics import METRICS_PATH
from pool.wire.probe import probe
from pool.wire.transport import Transport

FETCH_SECONDS = 5.0
MOST_LOOKS = 1_024
MOST_SPEEDS = 512

NO_METRICS = "the server shows no metrics that Pool can read (llama.cpp: --metrics, SGLang: --enable-metrics)"


@dataclass(slots=True)
class Watcher:
    """One server, watched. looks are of the last minute, speeds of writing of as many looks as fit a wide line."""

    transport: Transport
    clock: Callable[[], float] = time.monotonic
    info: ServerInfo | None = None
    looks: deque[Look] = field(default_factory=lambda: deque[Look](maxlen=MOST_LOOKS))
    speeds: deque[float] = field(default_factory=lambda: deque[float](maxlen=MOST_SPEEDS))
    trouble: str = ""
    _away_since: float | None = None

    async def look(self) -> Readings | None:
        """Look once; None if nothing could be seen, `trouble` then says why. Never raises `ServerProblem`."""
        try:
            fetched = await self.transport.get(METRICS_PATH, FETCH_SECONDS)
        except ServerProblem as problem:
            missing = problem.kind is ProblemKind.NOT_A_SERVER or problem.status in (404, 501)
            return self._lost(NO_METRICS if missing else str(problem))
        at = self.clock()
        self.looks.append(Look(at, read_counters(fetched.body.decode("utf-8", "replace"))))
        while self.looks[0].at < at - 2 * WINDOW_SECONDS:
            self.looks.popleft()
        now = readings(tuple(self.looks))
        if now is None:
            return self._lost(NO_METRICS)
        self.trouble, self._away_since = "", None
        if now.write_rate is not None:
            self.speeds.append(now.write_rate)
        if self.info is None:
            self.info = await probe(self.transport, None)
        return now

    @property
    def server(self) -> Server:
        """What is looked at, and how it is."""
        away = 0.0 if self._away_since is None else self.clock() - self._away_since
        name = self.info.describe() if self.info else ""
        return Server(self.transport.endpoint.display, name, away, self.trouble)

    def _lost(self, why: str) -> None:
        self.trouble = why
        self._away_since = self.clock() if self._away_since is None else self._away_since


def document(server: Server, now: Readings | None) -> dict[str, Any]:
    """A look as JSON types, for scripts."""
    if now is None:
        return {"address": server.address, "trouble": server.trouble}
    out: dict[str, Any] = {"address": server.address, "name": server.name, **plain(now)}
    drafted = now.speculation
    if drafted is not None:
        out["speculation"] |= {
            "depth": drafted.depth,
            "accepted_length_drafts_only": drafted.drafts_only,
            "accepted_length_with_bonus": drafted.with_bonus,
            "acceptance_by_position": list(drafted.curve),
        }
    return out
