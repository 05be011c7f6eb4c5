"""mlx-lm's server, 0.32.2."""

from __future__ import annotations

from pool.messages import ReasoningField
from pool.wire.dialects.base import Dialect, ServerKind

DIALECT = Dialect(
    kind=ServerKind.MLX,
    name="MLX",
    reasoning_history=ReasoningField.REASONING,
    sampling=frozenset({"top_k", "min_p", "repetition_penalty"}),
    window_remedy="the window is the model's own; see max_position_embeddings in its config.json",
    overflow="none of its own; a failure of any kind is an HTTP 404 with its text in `error`",
    source="source of 0.32.2; progress of the prefill comes as comments `keepalive done/total`; a cut call is dropped",
)
