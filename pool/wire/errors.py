"""What went wrong with a server, in one kind of exception: its kind decides what happens next, its texts tell a person.

Each server has its own wording and its own shape of error; all of them are read here, before the stream
(`classify_response`) and in the stream (`classify_fault`). `pool.wire.connection` reads the errors of connections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING

from pool.wire.dialects import for_address
from pool.wire.endpoint import Endpoint, redact
from pool.wire.error_body import ErrorBody, read_error_body, read_retry_after, shorten
from pool.wire.reading import ServerFault

if TYPE_CHECKING:
    from pool.wire.overflow import Overflow


class ProblemKind(StrEnum):
    """What is wrong. Which kinds are worth another try is `pool.wire.retry`'s business."""

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    DROPPED = "dropped"
    LOADING = "loading"
    BUSY = "busy"
    OVERFLOW = "overflow"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    MODEL_NOT_FOUND = "model_not_found"
    BAD_REQUEST = "bad_request"
    SERVER_ERROR = "server_error"
    NOT_A_SERVER = "not_a_server"


_HEADLINES = {
    ProblemKind.REFUSED: "nothing listens at the server's address",
    ProblemKind.UNREACHABLE: "the server cannot be reached",
    ProblemKind.TIMEOUT: "the server fell silent",
    ProblemKind.DROPPED: "the connection to the server broke",
    ProblemKind.LOADING: "the server is not ready",
    ProblemKind.BUSY: "the server is busy",
    ProblemKind.OVERFLOW: "the request does not fit the context window",
    ProblemKind.UNAUTHORIZED: "the server refused the key",
    ProblemKind.NOT_FOUND: "the server has no such address",
    ProblemKind.MODEL_NOT_FOUND: "the server does not have this model",
    ProblemKind.BAD_REQUEST: "the server refused the request",
    ProblemKind.SERVER_ERROR: "the server failed",
    ProblemKind.NOT_A_SERVER: "this is no model server",
}


@dataclass(eq=False)
class ServerProblem(Exception):
    """A request that failed. All texts are free of keys and passwords.

    status is the HTTP status, or the code of an error in the stream, 0 if there was none. message is the server's own
    words where it had any. remedy is one line that says what to do. retry_after is in seconds. received says that a
    byte of the reply's body had arrived. prompt_tokens, output_tokens (as asked for) and window are set for OVERFLOW
    where the server named them; at_least says that prompt_tokens is a lower bound. parameters are the request fields
    that the server objects to.
    """

    kind: ProblemKind
    message: str
    remedy: str = ""
    status: int = 0
    retry_after: float | None = None
    received: bool = False
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    window: int | None = None
    at_least: bool = False
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        status = f" (HTTP {self.status})" if self.status else ""
        return f"{_HEADLINES[self.kind]}{status}: {self.message}"


_LOADING_WORDS = re.compile(
    r"(?<!error )\bload(?:ing|ed yet)|\bstarting|warming up|not (?:yet )?ready|initiali[sz]ing", re.IGNORECASE
)
_BUSY_WORDS = re.compile(r"\bbusy\b|overload|queue|capacity|too many|pending requests|rate.?limit", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model(?:[^.]|\.(?=\S)){0,200}?"
    r"(?:does not exist|not found|not exist|not available|is not a valid|unknown|try pulling)"
    r"|(?:no such|unknown|invalid) model|not a valid model|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_LASTING_500 = re.compile(
    r"failed to parse tool call arguments|jinja|chat template|roles must alternate|system message must|raise_exception",
    re.IGNORECASE,
)
"""Texts of HTTP 500 that the same request will get again: llama.cpp reports a history that it cannot render so."""

_QUOTA = re.compile(r"insufficient_quota|insufficient credits|payment required|billing", re.IGNORECASE)
_KNOWN_FIELDS = (
    "thinking_token_budget",
    "repetition_detection",
    "min_p",
    "logit_bias",
    "top_k",
    "repetition_penalty",
    "stream_options",
    "chat_template_kwargs",
    "response_format",
    "structured_outputs",
    "tool_choice",
    "parallel_tool_calls",
    "continue_final_message",
    "max_tokens",
)
_FIELD_TRAITS = re.compile(
    r"not (?:yet )?support|unsupported|is set but|not configured|unknown|unrecognized|unexpected"
    r"|extra (?:inputs|fields)|invalid|must be|cannot be|can only",
    re.IGNORECASE,
)
_CAPABILITY = re.compile(r"does not support (thinking|tools)\W*\Z")
"""Ollama, about a model: `"llama3.2" does not support thinking`."""

_GATEWAY_TIMEOUTS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT, 524})
_TOO_LONG_STATUSES = frozenset({0, 400, 404, 413, 422, 500, 503})
_FAULT_STATUSES = {
    "badrequesterror": 400,
    "invalid_request_error": 400,
    "exceed_context_size_error": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "notfounderror": 404,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "ratelimiterror": 429,
    "overloaded_error": 503,
    "unavailable_error": 503,
}
"""HTTP status for the type of an error object that came without a code."""


def classify_response(status: int, headers: Mapping[str, str], body: bytes, endpoint: Endpoint) -> ServerProblem:
    """The problem that an HTTP answer other than a usable 200 stands for. Header names are in lower case."""
    parsed = read_error_body(body, headers.get("content-type", ""))
    location = headers.get("location", "") if 300 <= status < 400 else ""
    problem = _classify(status, parsed, endpoint, location)
    problem.retry_after = read_retry_after(headers)
    return problem


def classify_fault(fault: ServerFault, endpoint: Endpoint, received: bool = True) -> ServerProblem:
    """The problem that an error object in the stream stands for.

    vLLM sends some refusals so after a 200, as the only line: the code counts like an HTTP status.
    """
    code = fault.code if 400 <= fault.code < 600 else _FAULT_STATUSES.get(fault.kind.lower(), 500)
    problem = _classify(code, ErrorBody(fault.message, codes=(fault.kind,)), endpoint, "")
    problem.received = received
    return problem


def _classify(status: int, body: ErrorBody, endpoint: Endpoint, location: str) -> ServerProblem:
    words = f"{body.message} {' '.join(body.codes)}"
    overflow = None
    if status in _TOO_LONG_STATUSES and not body.is_page:
        # Imported here, since its patterns take longer to compile than most runs spend on errors.
        from pool.wire.overflow import read_overflow

        overflow = read_overflow(body.message, body.codes)
    if overflow is not None:
        return _overflow(status, body, overflow, endpoint)
    kind = _kind(status, words, body)
    message = shorten(redact(body.message, endpoint)) or _phrase(status)
    parameters = _parameters(body, words) if kind is ProblemKind.BAD_REQUEST else ()
    remedy = _remedy(kind, status, endpoint, location, parameters)
    return ServerProblem(kind, message, remedy, status, parameters=parameters)


def _kind(status: int, words: str, body: ErrorBody) -> ProblemKind:
    if status in (401, 402, 403, 407) or (status == HTTPStatus.TOO_MANY_REQUESTS and _QUOTA.search(words)):
        return ProblemKind.UNAUTHORIZED
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ProblemKind.BUSY
    if status in _GATEWAY_TIMEOUTS:
        return ProblemKind.TIMEOUT
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _kind_of_5xx(status, words)
    if status < HTTPStatus.BAD_REQUEST or body.is_page:
        return ProblemKind.NOT_A_SERVER
    if _NO_MODEL.search(words):
        return ProblemKind.MODEL_NOT_FOUND
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED) and not body.explains:
        return ProblemKind.NOT_FOUND
    return ProblemKind.BAD_REQUEST


def _kind_of_5xx(status: int, words: str) -> ProblemKind:
    if status == HTTPStatus.NOT_IMPLEMENTED or _LASTING_500.search(words):
        return ProblemKind.BAD_REQUEST
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return ProblemKind.BUSY if _BUSY_WORDS.search(words) else ProblemKind.LOADING
    if _LOADING_WORDS.search(words) and "model" in words.lower():
        return ProblemKind.LOADING
    return ProblemKind.SERVER_ERROR


def _overflow(status: int, body: ErrorBody, overflow: Overflow, endpoint: Endpoint) -> ServerProblem:
    window = overflow.window or body.window
    prompt = overflow.prompt_tokens or body.prompt_tokens
    message = shorten(redact(body.message, endpoint)) or "the context window is full"
    remedy = f"compact the conversation, or {for_address(endpoint.base_url).window_remedy}"
    if overflow.prompt_was_cut:
        message += " (the server cut off the front of the prompt, the user's message with it)"
        remedy = "give the model a larger window on the server: num_ctx or OLLAMA_CONTEXT_LENGTH for Ollama"
    return ServerProblem(
        ProblemKind.OVERFLOW,
        message,
        remedy,
        status,
        prompt_tokens=prompt,
        output_tokens=overflow.output_tokens,
        window=window,
        at_least=overflow.at_least,
        parameters=("max_tokens",) if overflow.output_tokens and prompt is None else (),
    )


def _remedy(kind: ProblemKind, status: int, endpoint: Endpoint, location: str, parameters: tuple[str, ...]) -> str:
    match kind:
        case ProblemKind.UNAUTHORIZED if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return "the proxy wants a password: put it into HTTPS_PROXY, or take the host out by NO_PROXY"
        case ProblemKind.UNAUTHORIZED if status in (HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.TOO_MANY_REQUESTS):
            return "the account has no credit left, or its quota is used up"
        case ProblemKind.UNAUTHORIZED:
            return "set POOL_API_KEY to the key that the server was started with (vLLM: --api-key)"
        case ProblemKind.NOT_FOUND:
            path = for_address(endpoint.base_url).shape.path
            return f"check the address {endpoint.display}: it should be the part before /{path}"
        case ProblemKind.MODEL_NOT_FOUND:
            return f"choose a model that {endpoint.root}/v1/models lists"
        case ProblemKind.TIMEOUT:
            return "a gateway before the server gave up waiting: raise its read time-out (nginx: proxy_read_timeout)"
        case ProblemKind.LOADING:
            return "wait until the model is loaded; the server's log shows how far it is"
        case ProblemKind.NOT_A_SERVER if location:
            return f"the address points elsewhere: use {redact(location, endpoint)}"
        case ProblemKind.NOT_A_SERVER:
            return f"check the address {endpoint.display}: a web page answers there"
        case ProblemKind.BAD_REQUEST:
            return _remedy_of_refusal(status, parameters)
        case ProblemKind.SERVER_ERROR if status == HTTPStatus.BAD_GATEWAY:
            return "the gateway is up, the model server behind it is not"
        case ProblemKind.SERVER_ERROR:
            return "see the server's log"
        case _:
            return ""


def _remedy_of_refusal(status: int, parameters: tuple[str, ...]) -> str:
    if "thinking_token_budget" in parameters:
        flag = '{"reasoning_start_str":"<think>","reasoning_end_str":"</think>"}'
        return f"start vLLM with --reasoning-config '{flag}', or leave the budget to Pool"
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return "a gateway limits the size of a request: raise it (nginx: client_max_body_size)"
    if "thinking" in parameters:
        return "switch thinking off (--thinking off), or choose a model that can think"
    if "tools" in parameters:
        return "choose a model that can call tools; `ollama show MODEL` says what a model can do"
    return f"leave out {', '.join(parameters)}" if parameters else ""


def _parameters(body: ErrorBody, words: str) -> tuple[str, ...]:
    """The request fields that a refusal is about: named by the error object, or by known names in its text."""
    if body.parameter:
        return (body.parameter,)
    if missing := _CAPABILITY.search(body.message):
        return (missing[1],)
    if not _FIELD_TRAITS.search(words):
        return ()
    return tuple(name for name in _KNOWN_FIELDS if re.search(rf"\b{name}\b", words))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no explanation"
