"""A session's course, request by request, and what its guards did: for plots and lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pool.sessions.rewinds import Row, effective
from pool.sessions.summary import count_of, seconds_of, text_of, title_of
from pool_tools.frozen import frozen


@frozen
class RequestPoint:
    """One request that was answered. speed is in tokens a second, 0 if not measured; context in tokens after the reply.

    cached is the cached share of the prompt, 0 to 1.
    """

    context: int
    cached: float
    speed: float
    first_token_seconds: float


@frozen
class Firing:
    """A guard that acted. prompt counts from 1; title is that prompt's first line."""

    prompt: int
    title: str
    turn: int
    guard: str
    action: str
    detail: str
    cost: str


def request_points(rows: Iterable[Row]) -> list[RequestPoint]:
    """All answered requests of the session, those of prompts that were taken back too."""
    return [_point(row) for row in rows if row.get("type") == "usage" and not row.get("agent")]


def firings(rows: Iterable[Row]) -> list[Firing]:
    """What guards did in the prompts that count."""
    out: list[Firing] = []
    prompt, title = 0, ""
    for row in effective(rows):
        if row.get("type") == "run.started" and not row.get("agent"):
            prompt, title = prompt + 1, title_of(text_of(row.get("prompt")))
        elif row.get("type") == "guard.fired":
            said = (text_of(row.get(key)) for key in ("guard", "action", "detail", "cost"))
            out.append(Firing(prompt, title, count_of(row.get("turn")), *said))
    return out


def _point(row: Row) -> RequestPoint:
    value: Any = row.get("usage")
    usage = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    prompt, written = count_of(usage.get("prompt")), count_of(usage.get("completion"))
    first, whole = seconds_of(row.get("first_token_seconds")), seconds_of(row.get("reply_seconds"))
    measured = whole > first and written > 1 and usage.get("estimated") is not True
    return RequestPoint(
        context=prompt + written,
        cached=min(1.0, count_of(usage.get("cached")) / prompt) if prompt else 0.0,
        speed=(written - 1) / (whole - first) if measured else 0.0,
        first_token_seconds=max(0.0, first - seconds_of(row.get("waited_seconds"))),
    )
