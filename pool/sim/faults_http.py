"""Faults in the HTTP answer: another answer instead, or another way to serve the request.

Ids such as WIRE-13 and HEAD-01 are those of the trial cases from public bug reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from pool.sim.chunks import compact
from pool.sim.errors import ApiError
from pool.sim.request import ChatRequest


@dataclass(frozen=True, slots=True)
class Instead:
    """An answer that the server gives instead of its own."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])


InsteadFault = Callable[[str], Instead]
RequestFault = Callable[[ChatRequest, str], ChatRequest]

HTML = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n"
DEFAULT_RETRY_SECONDS = "1"


def too_many(arg: str) -> Instead:
    """WIRE-13: 429 with `Retry-After` of arg seconds (1) or an HTTP date; only the first request unless told otherwise.

    https://github.com/VoltAgent/voltagent/pull/1283
    """
    error = {"message": "Too many requests.", "type": "RateLimitError", "param": None, "code": 429}
    return Instead(429, compact({"error": error}), headers={"retry-after": arg or DEFAULT_RETRY_SECONDS})


def unavailable(arg: str) -> Instead:
    """WIRE-14: 503 without a hint, or with `Retry-After` of arg; only the first request unless told otherwise.

    https://github.com/mudler/LocalAI/issues/10719
    """
    headers = {"retry-after": arg} if arg else {}
    return Instead(503, compact(ApiError("The server is busy.", status=503).body()), headers=headers)


def loading(arg: str) -> Instead:
    """WIRE-14: 503 while a model loads, in llama.cpp's words; the first three requests unless told otherwise.

    https://github.com/mudler/LocalAI/issues/10719
    """
    error = {"message": "Loading model", "type": "unavailable_error", "code": 503}
    return Instead(503, compact({"error": error}))


def html_body(arg: str) -> Instead:
    """A proxy answers for the server, in HTML, with status arg (502).

    https://github.com/Mintplex-Labs/anything-llm/issues/3223
    """
    return Instead(int(arg or HTTPStatus.BAD_GATEWAY), HTML, "text/html")


def unauthorized(arg: str) -> Instead:
    """HEAD-01: 401, where vLLM's `error` is a text. Recording E17."""
    return Instead(401, b'{"error":"Unauthorized"}')


def internal_error(arg: str) -> Instead:
    """HEAD-01: 500 in vLLM's shape.

    https://github.com/PrimeIntellect-ai/prime-agent/issues/2404
    """
    return Instead(500, compact(ApiError("Internal server error", status=500).body()))


def json_body(request: ChatRequest, arg: str) -> ChatRequest:
    """A request for a stream is answered with one JSON body: the server ignores `stream`.

    https://github.com/BaseIntelligence/bounty-challenge/issues/17821
    """
    return replace(request, stream=False)


def no_usage(request: ChatRequest, arg: str) -> ChatRequest:
    """No usage chunk although it was asked for, as LM Studio did.

    https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/676
    """
    return replace(request, include_usage=False, continuous_usage=False)


INSTEAD_FAULTS: Mapping[str, InsteadFault] = {
    "429-then-ok": too_many,
    "503-then-ok": unavailable,
    "loading": loading,
    "html-body": html_body,
    "401": unauthorized,
    "500": internal_error,
}
REQUEST_FAULTS: Mapping[str, RequestFault] = {"json-body": json_body, "no-usage": no_usage}
