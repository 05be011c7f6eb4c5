"""vLLM, 0.25.1 and 0.32.0."""

from __future__ import annotations

from pool.messages import ReasoningField
from pool.wire.dialects.base import Dialect, ServerKind, TokenizerKind

DIALECT = Dialect(
    kind=ServerKind.VLLM,
    name="vLLM",
    reasoning_history=ReasoningField.REASONING,
    continuous_usage=True,
    # High counts: at 32 repetitions of 1 to 64 tokens, 1 of 768 ordinary source files would have been cut.
    repetition_detection={"repetition_detection": {"max_pattern_size": 64, "min_pattern_size": 1, "min_count": 32}},
    thinking_budget=("thinking_token_budget",),
    thinking_budget_uncertain=True,
    sampling=frozenset({"top_k", "min_p", "repetition_penalty", "stop_token_ids", "bad_words", "min_tokens"}),
    refused_under_speculation=frozenset({"min_p", "logit_bias"}),
    continue_message={"continue_final_message": True, "add_generation_prompt": False},
    structural_tags=True,
    json_schema=True,
    tokenizer=TokenizerKind.CHAT,
    running_metric="vllm:num_requests_running",
    waiting_metric="vllm:num_requests_waiting",
    preemption_metric="vllm:num_preemptions",
    speculation_metric="vllm:spec_decode_num_drafts",
    window_remedy="start vLLM with a larger --max-model-len",
    overflow="HTTP 400; 0.25.1 also refuses prompt plus max_tokens over the window, 0.32.0 cuts max_tokens in silence",
    source="recordings and runs of both versions with poolside_v1 parsers; the budget needs --reasoning-config there",
)
