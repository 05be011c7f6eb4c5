"""OpenRouter."""

from __future__ import annotations

from pool.messages import ReasoningField
from pool.wire.dialects.base import Dialect, ServerKind

DIALECT = Dialect(
    kind=ServerKind.OPENROUTER,
    name="OpenRouter",
    reasoning_history=ReasoningField.REASONING,
    thinking_on={"reasoning": {"enabled": True}},
    thinking_off={"reasoning": {"enabled": False}},
    thinking_budget=("reasoning", "max_tokens"),
    thinking_budget_uncertain=True,
    sampling=frozenset({"top_k", "min_p", "repetition_penalty"}),
    hosts=("openrouter.ai",),
    window_remedy="choose a model or provider with a larger context window",
    overflow='HTTP 400, "This endpoint\'s maximum context length is N tokens. However, you requested about M tokens …"',
    source="its documentation; errors may come in the stream, comments `: OPENROUTER PROCESSING` mean that it works",
)
