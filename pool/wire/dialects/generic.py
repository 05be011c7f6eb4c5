"""Any other server, and every server until it is known: what servers compatible with vLLM accept."""

from __future__ import annotations

from pool.wire.dialects.base import Dialect, ServerKind

DIALECT = Dialect(
    kind=ServerKind.GENERIC,
    name="an OpenAI-compatible server",
    sampling=frozenset({"top_k"}),
    refused_under_speculation=frozenset({"min_p", "logit_bias"}),
    source="what all of the known servers take or ignore",
)
