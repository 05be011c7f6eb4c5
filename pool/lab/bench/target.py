"""The server under measurement: what it is, how it is asked, and what tells one setup from another."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from pool.config.settings import Settings
from pool.lab.bench.corpus import Prompt
from pool.lab.bench.counters import FETCH_SECONDS, Counters, fetch_counters
from pool.lab.bench.exchange import measured
from pool.lab.bench.timeline import Sample
from pool.wire.dialects import ServerKind
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import PROPS_PATH, SGLANG_INFO_PATHS, ServerInfo
from pool.wire.metrics import METRICS_PATH
from pool.wire.probe import probe
from pool.wire.request import Head, RequestBuilder, Sampling
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

PROBE_SECONDS = 5.0
KEEPS_LENGTH = frozenset({ServerKind.VLLM, ServerKind.SGLANG, ServerKind.LLAMACPP})
"""Servers that take `ignore_eos`: a reply goes on to its limit. With others a reply may end before it."""

_CACHE_CONFIG = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_CACHE_LABELS = ("block_size", "cache_dtype", "enable_prefix_caching", "gpu_memory_utilization", "num_gpu_blocks")
_SGLANG_FIELDS = ("speculative_algorithm", "speculative_num_draft_tokens", "mem_fraction_static", "attention_backend")
_PROPS_FIELDS = ("build_info", "total_slots")


@frozen
class Fingerprint:
    """What tells one setup from another. id is a short hash of all but the address."""

    address: str
    kind: str
    version: str
    model: str
    window: int
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    id: str = ""


@dataclass(slots=True)
class Target:
    """A server that can be asked. Use it as an async context manager. label names it in comparisons."""

    settings: Settings
    label: str = ""
    limit_seconds: float = 600.0
    thinking: bool = False
    temperature: float | None = None
    transport: Transport = field(init=False)
    info: ServerInfo = field(default_factory=ServerInfo)
    model: str = ""

    def __post_init__(self) -> None:
        given = self.settings
        # Each arrival is noted when it comes, so a fast stream must not gather.
        self.transport = Transport(parse_endpoint(given.base_url, given.api_key, given.headers), gather=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *gone: object) -> None:
        await self.transport.aclose()

    async def meet(self) -> None:
        """Find out what the server is. Raises `ServerProblem` if it cannot be used."""
        self.info = await probe(self.transport, self.settings.model or None, PROBE_SECONDS)
        self.model = self.settings.model or self.info.model
        if self.info.locked:
            raise ServerProblem(ProblemKind.UNAUTHORIZED, "the server wants an API key", "set POOL_API_KEY")
        if not self.info.reachable:
            where = self.transport.endpoint.display
            raise ServerProblem(ProblemKind.REFUSED, f"nothing answers at {where}", "start the server, or --base-url")

    async def ask(self, prompt: Prompt, tokens: int, *, fixed: bool = False) -> Sample:
        """Send a prompt and measure its reply of at most so many tokens. Raises `ServerProblem`."""
        shape = self.info.dialect.shape
        return await measured(self.transport, shape.path, self.body(prompt, tokens, fixed=fixed), self.limit_seconds)

    def body(self, prompt: Prompt, tokens: int, *, fixed: bool = False) -> bytes:
        """The request: what a run would send, and what makes it count. fixed: exactly so many tokens are written."""
        dialect = self.info.dialect
        given = self.settings.sampling
        sampling = Sampling(given.temperature, given.top_p, given.top_k, dict(given.extra))
        if self.temperature is not None:
            sampling = Sampling(self.temperature, given.top_p, given.top_k, dict(given.extra))
        head = Head(self.model, self.thinking, prompt.tools, sampling, window=self.settings.window)
        messages = prompt.encoded or tuple(dialect.shape.encode(message).data for message in prompt.messages)
        extra: dict[str, Any] = dict(dialect.thinking(self.thinking))
        extra.pop(dialect.shape.thinking_field, None)
        if dialect.continuous_usage:
            extra["stream_options"] = {"continuous_usage_stats": True}
        if dialect.kind is ServerKind.LLAMACPP:
            extra["timings_per_token"] = True
        if fixed and dialect.kind in KEEPS_LENGTH:
            extra["ignore_eos"] = True
        return RequestBuilder(head, dialect.shape).build(messages, max_tokens=tokens, extra=extra)

    async def counters(self) -> Counters | None:
        """The server's counters now."""
        return await fetch_counters(self.transport)

    async def fingerprint(self) -> Fingerprint:
        """What is served, and how, as far as the server tells."""
        details = await self._details()
        info = self.info
        # The number of blocks follows from free memory at the start, so it differs between starts of one setup.
        settled = sorted((name, value) for name, value in details.items() if name != "num_gpu_blocks")
        told = [info.dialect.name, info.version, self.model, info.window, settled]
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]
        where = self.transport.endpoint.display
        return Fingerprint(where, info.dialect.name, info.version, self.model, info.window, details, digest)

    async def _details(self) -> dict[str, str]:
        match self.info.kind:
            case ServerKind.VLLM:
                return _labels(await self._text(METRICS_PATH))
            case ServerKind.LLAMACPP:
                return _fields(await self._json(PROPS_PATH), _PROPS_FIELDS)
            case ServerKind.SGLANG:
                found = _fields(await self._json(SGLANG_INFO_PATHS[0]), _SGLANG_FIELDS)
                return found or _fields(await self._json(SGLANG_INFO_PATHS[1]), _SGLANG_FIELDS)
            case _:
                return {}

    async def _text(self, path: str) -> str:
        try:
            return (await self.transport.get(path, FETCH_SECONDS)).body.decode("utf-8", "replace")
        except ServerProblem:
            return ""

    async def _json(self, path: str) -> Mapping[str, Any]:
        try:
            value = await self.transport.get_json(path, FETCH_SECONDS)
        except ServerProblem:
            return {}
        return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _labels(metrics: str) -> dict[str, str]:
    """The settings of vLLM's cache that its metrics name."""
    found = _CACHE_CONFIG.search(metrics)
    labels = dict(_LABEL.findall(found[1])) if found else {}
    return {name: labels[name] for name in _CACHE_LABELS if name in labels}


def _fields(value: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    return {name: str(value[name]) for name in names if value.get(name) is not None}
