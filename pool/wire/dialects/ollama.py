"""Ollama's OpenAI-compatible API."""

from __future__ import annotations

from pool.messages import ReasoningField
from pool.wire.dialects.base import Dialect, ServerKind

DIALECT = Dialect(
    kind=ServerKind.OLLAMA,
    name="Ollama",
    reasoning_history=ReasoningField.REASONING,
    # Thinking is off unless asked for. Levels make no difference to Laguna.
    thinking_on={"reasoning_effort": "medium"},
    thinking_off={"reasoning_effort": "none"},
    window_when_loaded=True,
    window_remedy="let Pool ask for a window: an address that ends in /api instead of /v1, and POOL_CONTEXT_LENGTH; "
    "or set OLLAMA_CONTEXT_LENGTH for `ollama serve`, or num_ctx in the model's Modelfile",
    overflow="none: the front of the prompt is dropped without a word, instructions and tools first; usage shows it",
    source="source of the server, August 2026; tool_choice is ignored; the /v1 API takes no num_ctx",
)
