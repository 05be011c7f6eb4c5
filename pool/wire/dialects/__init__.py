"""One small module of data per server. No other code asks which server it is; it asks the dialect."""

from __future__ import annotations

from pool.wire.dialects import generic, llamacpp, lmstudio, mlx, ollama, openrouter, poolside, sglang, vllm
from pool.wire.dialects.base import Dialect, Fragment, ServerKind, TokenizerKind

__all__ = ["DIALECTS", "Dialect", "Fragment", "ServerKind", "TokenizerKind", "for_server"]

DIALECTS: dict[ServerKind, Dialect] = {
    module.DIALECT.kind: module.DIALECT
    for module in (vllm, sglang, llamacpp, ollama, mlx, lmstudio, openrouter, poolside, generic)
}


def for_server(kind: ServerKind) -> Dialect:
    """The dialect of a kind of server."""
    return DIALECTS[kind]
