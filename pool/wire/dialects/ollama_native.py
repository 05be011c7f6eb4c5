"""Ollama's own API, `/api/chat`."""

from __future__ import annotations

from pool.messages import ReasoningField
from pool.wire.dialects.base import Dialect, ServerKind
from pool.wire.ollama import API_PATH, NATIVE

DIALECT = Dialect(
    kind=ServerKind.OLLAMA_NATIVE,
    name="Ollama",
    reasoning_history=ReasoningField.THINKING,
    # Levels ("low" to "max") make no difference to Laguna.
    thinking_on={"think": True},
    thinking_off={"think": False},
    sampling=frozenset({"top_k", "min_p", "repeat_penalty", "repeat_last_n"}),
    window_when_loaded=True,
    window_remedy="set POOL_CONTEXT_LENGTH to the tokens that your memory has room for; Pool asks for that window",
    shape=NATIVE,
    paths=(API_PATH,),
    overflow="HTTP 400 with llama.cpp's error object as text, since the request forbids cutting; before 0.12.6 silence",
    source="source of 0.33, August 2026; no tool_choice; 0.30.0 leaves what was cached out of prompt_eval_count",
)
