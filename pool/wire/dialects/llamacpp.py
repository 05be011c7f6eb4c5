"""llama.cpp's llama-server, b11549."""

from __future__ import annotations

from pool.messages import ReasoningField
from pool.wire.dialects.base import Dialect, ServerKind, TokenizerKind

DIALECT = Dialect(
    kind=ServerKind.LLAMACPP,
    name="llama.cpp",
    # `reasoning` is dropped without a word.
    reasoning_history=ReasoningField.REASONING_CONTENT,
    thinking_budget=("thinking_budget_tokens",),
    thinking_budget_uncertain=True,
    sampling=frozenset({"top_k", "min_p", "repeat_penalty", "dry_multiplier", "dry_base", "dry_allowed_length"}),
    continue_message={},
    progress={"return_progress": True},
    reasoning_control={"reasoning_control": True},
    reasoning_control_path="chat/completions/control",
    tokenizer=TokenizerKind.TEMPLATE,
    running_metric="llamacpp:requests_processing",
    waiting_metric="llamacpp:requests_deferred",
    window_remedy="start llama-server with a larger --ctx-size; it is shared among --parallel slots",
    overflow="HTTP 400 with type exceed_context_size_error, n_prompt_tokens and n_ctx, all exact",
    source="recordings of b11549 and the server's README; history that it cannot render is an HTTP 500",
)
