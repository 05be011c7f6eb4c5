"""What is this server? Asked by GETs only, all at once, while a session starts: nothing is generated.

Addresses that a server does not have are answered with an error or not at all; both are fine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from pool.wire.dialects import ServerKind, kind_of_address
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.identify import (
    LMSTUDIO_MODELS_PATH,
    MODELS_PATH,
    OLLAMA_RUNNING_PATH,
    OLLAMA_TAGS_PATH,
    OLLAMA_VERSION_PATH,
    PROPS_PATH,
    SGLANG_INFO_PATHS,
    VERSION_PATH,
    Documents,
    ServerInfo,
    identify,
)
from pool.wire.metrics import METRICS_PATH
from pool.wire.transport import Fetched, Transport
from pool_tools.frozen import frozen

PROBE_SECONDS = 2.0
"""Limit of each GET; they run at the same time."""

DISCOVER_SECONDS = 0.8
CONNECT_SECONDS = 0.3
USUAL_PORTS = (8000, 30000, 8080, 11434, 1234)
"""vLLM, SGLang, llama.cpp and MLX, Ollama, LM Studio."""

_PATHS = (
    MODELS_PATH,
    VERSION_PATH,
    PROPS_PATH,
    OLLAMA_VERSION_PATH,
    OLLAMA_RUNNING_PATH,
    LMSTUDIO_MODELS_PATH,
    *SGLANG_INFO_PATHS,
    METRICS_PATH,
)
_OLLAMA_PATHS = (OLLAMA_TAGS_PATH, OLLAMA_VERSION_PATH, OLLAMA_RUNNING_PATH)
_NOBODY_HOME = frozenset({ProblemKind.REFUSED, ProblemKind.UNREACHABLE, ProblemKind.DROPPED, ProblemKind.TIMEOUT})


@frozen
class Found:
    """A server on this machine. words says in one line what it is and where."""

    port: int
    base_url: str
    info: ServerInfo
    words: str


async def probe(transport: Transport, model: str | None, limit_seconds: float = PROBE_SECONDS) -> ServerInfo:
    """Find out what the server is. Never raises for what a server does or lacks: the notes say it.

    model is the one that the user asked for, None to take what the server has.
    """
    known = kind_of_address(transport.endpoint.base_url)
    paths = _paths(known)
    answers = await asyncio.gather(*(_get(transport, path, limit_seconds) for path in paths))
    documents: dict[str, Any] = {}
    metrics = ""
    for path, answer in zip(paths, answers, strict=True):
        if isinstance(answer, ServerProblem):
            continue
        if path == METRICS_PATH:
            metrics = answer.body.decode("utf-8", "replace")
        else:
            documents[path] = _decode(answer)
    first = answers[0]
    reachable = any(not isinstance(a, ServerProblem) or a.kind not in _NOBODY_HOME for a in answers)
    if isinstance(first, ServerProblem):
        locked = first.kind is ProblemKind.UNAUTHORIZED
        gathered = Documents(documents, metrics, trouble=_trouble(first), locked=locked)
    else:
        gathered = Documents(documents, metrics, first.headers.get("server", ""))
    return identify(gathered, known, model or "", reachable)


def _paths(known: ServerKind | None) -> tuple[str, ...]:
    """What to ask, the list of models first; known is what the address said."""
    match known:
        case None:
            return _PATHS
        case ServerKind.OLLAMA_NATIVE:
            return _OLLAMA_PATHS
        case _:
            return (MODELS_PATH,)


async def discover(ports: Sequence[int] = USUAL_PORTS, limit_seconds: float = DISCOVER_SECONDS) -> list[Found]:
    """The model servers that answer on ports of this machine, in the order of ports; takes less than a second."""
    found = await asyncio.gather(*(_look(port, limit_seconds) for port in ports))
    return [server for server in found if server is not None]


async def _look(port: int, limit_seconds: float) -> Found | None:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        return None
    writer.close()
    endpoint = parse_endpoint(f"http://127.0.0.1:{port}")
    async with Transport(endpoint) as transport:
        info = await probe(transport, None, limit_seconds)
    if not info.models and not info.locked:
        return None
    return Found(port, endpoint.base_url, info, f"port {port}: {info.describe()}")


async def _get(transport: Transport, path: str, limit_seconds: float) -> Fetched | ServerProblem:
    try:
        return await transport.get(path, limit_seconds)
    except ServerProblem as problem:
        return problem


def _decode(answer: Fetched) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None


def _trouble(problem: ServerProblem) -> str:
    text = str(problem)
    remedy = f"; {problem.remedy}" if problem.remedy else ""
    return f"{text[:1].upper()}{text[1:]}{remedy}."
