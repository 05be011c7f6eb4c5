"""Poolside's hosted API."""

from __future__ import annotations

from pool.wire.dialects.base import Dialect, ServerKind

DIALECT = Dialect(
    kind=ServerKind.POOLSIDE,
    name="Poolside",
    sampling=frozenset({"top_k", "min_p"}),
    hosts=("poolside.ai",),
    window_remedy="the window is the service's",
    overflow="as vLLM",
    source="reports of users: without the template switch, thoughts arrive in the content, as from vLLM",
)
