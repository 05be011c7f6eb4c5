"""Faults in the HTTP answer: another answer instead, or another way to serve the request.

Ids such as WIRE-13 and HEAD-01 are those of the trial cases from public bug reports.
"""

from __future__ import annotations

import secrets
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
DEFAULT_KEPT_TOKENS = 2_048


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


def grammar_ignored(request: ChatRequest, arg: str) -> ChatRequest:
    """`response_format` is accepted and does nothing.

    https://github.com/vllm-project/vllm/issues/53469
    """
    return replace(request, form=None)


def budget_ignored(request: ChatRequest, arg: str) -> ChatRequest:
    """`thinking_token_budget` is accepted and does nothing.

    https://github.com/vllm-project/vllm/issues/54906 · https://github.com/mdegans/drama_llama/issues/114
    """
    return replace(request, thinking_budget=None)


def repetition_ignored(request: ChatRequest, arg: str) -> ChatRequest:
    """`repetition_detection` is accepted and does nothing: a gateway does not pass it on.

    https://github.com/ai-dynamo/dynamo/pull/10939
    """
    return replace(request, repetition=None)


def drafts_rejected(request: ChatRequest, arg: str) -> ChatRequest:
    """No draft token is ever right: the draft model belongs to another revision. The text is right all the same.

    https://github.com/1CatAI/1Cat-vLLM/issues/478 · https://github.com/vllm-project/vllm/issues/49559
    """
    return replace(request, accepts_drafts=False)


def no_prefix_cache(request: ChatRequest, arg: str) -> ChatRequest:
    """Every prompt is read anew, although the cache is switched on.

    https://github.com/vllm-project/vllm/issues/51198
    """
    return replace(request, cache_salt=secrets.token_hex(8))


def forgets_thoughts(request: ChatRequest, arg: str) -> ChatRequest:
    """The chat template leaves out earlier thoughts.

    https://github.com/QwenLM/Qwen3.8/issues/131 · https://github.com/nibor1896/Crow/issues/60
    """
    bare = tuple({k: v for k, v in m.items() if k not in ("reasoning", "reasoning_content")} for m in request.messages)
    return replace(request, messages=bare)


def unstreamed_raw(request: ChatRequest, arg: str) -> ChatRequest:
    """Without streaming the parsers pass everything: thinking tags and call markup arrive as content.

    https://github.com/vllm-project/vllm/pull/47562
    """
    return request if request.stream else replace(request, raw_text=True)


def cuts_front(request: ChatRequest, arg: str) -> ChatRequest:
    """Of a long prompt only the last arg tokens (2048) are read, and nobody is told; Ollama does so by its `num_ctx`.

    https://github.com/ollama/ollama/issues/3839
    """
    return replace(request, keeps_tokens=int(arg or DEFAULT_KEPT_TOKENS))


INSTEAD_FAULTS: Mapping[str, InsteadFault] = {
    "429-then-ok": too_many,
    "503-then-ok": unavailable,
    "loading": loading,
    "html-body": html_body,
    "401": unauthorized,
    "500": internal_error,
}
REQUEST_FAULTS: Mapping[str, RequestFault] = {
    "json-body": json_body,
    "no-usage": no_usage,
    "grammar-ignored": grammar_ignored,
    "budget-ignored": budget_ignored,
    "repetition-ignored": repetition_ignored,
    "drafts-rejected": drafts_rejected,
    "no-prefix-cache": no_prefix_cache,
    "forgets-thoughts": forgets_thoughts,
    "unstreamed-raw": unstreamed_raw,
    "cuts-front": cuts_front,
}
