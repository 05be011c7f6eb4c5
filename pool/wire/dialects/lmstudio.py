"""LM Studio."""

from __future__ import annotations

from pool.wire.dialects.base import Dialect, ServerKind

DIALECT = Dialect(
    kind=ServerKind.LMSTUDIO,
    name="LM Studio",
    sampling=frozenset({"top_k", "min_p", "repeat_penalty"}),
    window_when_loaded=True,
    window_remedy="load the model with a larger context length in LM Studio",
    overflow='{"error": "Trying to keep the first N tokens when context the overflows. …"}',
    source="reports of users; usage may be missing, and calls may come as markup in the content",
)
