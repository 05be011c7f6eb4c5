"""SGLang, 0.5.23."""

from __future__ import annotations

from pool.wire.dialects.base import Dialect, ServerKind

DIALECT = Dialect(
    kind=ServerKind.SGLANG,
    name="SGLang",
    thinking_budget=("custom_params", "thinking_budget"),
    thinking_budget_uncertain=True,
    sampling=frozenset({"top_k", "min_p", "repetition_penalty", "stop_token_ids", "min_tokens"}),
    continue_message={"continue_final_message": True},
    structural_tags=True,
    running_metric="sglang:num_running_reqs",
    waiting_metric="sglang:num_queue_reqs",
    speculation_metric="sglang:spec_accept_length",
    window_remedy="start SGLang with a larger --context-length",
    overflow='HTTP 400, "The input (N tokens) is longer than the model\'s context length (M tokens)."',
    source="source of 0.5.23; a call to an unknown tool is discarded whole by the server, and string values come whole",
)
