"""One small module of data per server. No other code asks which server it is; it asks the dialect."""

from __future__ import annotations

from urllib.parse import urlsplit

from pool.wire.dialects import (
    generic,
    llamacpp,
    lmstudio,
    mlx,
    ollama,
    ollama_native,
    openrouter,
    poolside,
    sglang,
    vllm,
)
from pool.wire.dialects.base import Dialect, Fragment, ServerKind, TokenizerKind

__all__ = [
    "DIALECTS",
    "Dialect",
    "Fragment",
    "ServerKind",
    "TokenizerKind",
    "for_address",
    "for_server",
    "kind_of_address",
]

DIALECTS: dict[ServerKind, Dialect] = {
    module.DIALECT.kind: module.DIALECT
    for module in (vllm, sglang, llamacpp, ollama, ollama_native, mlx, lmstudio, openrouter, poolside, generic)
}


def for_server(kind: ServerKind) -> Dialect:
    """The dialect of a kind of server."""
    return DIALECTS[kind]


def kind_of_address(base_url: str) -> ServerKind | None:
    """What the address alone says: a hosted service by its host, an API of its own by its path; None if neither."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    for dialect in DIALECTS.values():
        if any(host == name or host.endswith(f".{name}") for name in dialect.hosts):
            return dialect.kind
    return next((dialect.kind for dialect in DIALECTS.values() if parts.path in dialect.paths), None)


def for_address(base_url: str) -> Dialect:
    """The dialect to begin with at an address, before anything has answered there."""
    return for_server(kind_of_address(base_url) or ServerKind.GENERIC)
