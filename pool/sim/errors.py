"""Refusals in vLLM's shapes (recordings E1 to E17)."""

from __future__ import annotations

from typing import Any

_TYPES = {
    400: "BadRequestError",
    404: "NotFoundError",
    500: "InternalServerError",
    501: "NotImplementedError",
    503: "ServiceUnavailableError",
}
SHAPE_ERROR = "Bad Request"


class ApiError(Exception):
    """A request that is refused. in_stream says that vLLM finds it out after a stream's 200 has been sent."""

    def __init__(
        self, message: str, *, status: int = 400, param: str | None = None, kind: str = "", in_stream: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param
        self.kind = kind or _TYPES.get(status, "Error")
        self.in_stream = in_stream

    def body(self) -> dict[str, Any]:
        """The JSON object that vLLM answers with."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}}


def shape_error(message: str, param: str, body: object) -> ApiError:
    """A request body that vLLM's validation refuses: pydantic's words around the cause, type "Bad Request"."""
    detail = {
        "type": "value_error",
        "loc": ("body",),
        "msg": f"Value error, {message} (parameter={param})",
        "input": body,
    }
    return ApiError(f"1 validation error:\n  {detail!r}", param=param, kind=SHAPE_ERROR)


def missing_field(name: str, body: object) -> ApiError:
    """A required field that is not there (recording E6)."""
    detail = {"type": "missing", "loc": ("body", name), "msg": "Field required", "input": body}
    return ApiError(f"1 validation error:\n  {detail!r}", param=f"body.{name}", kind=SHAPE_ERROR)


def not_json(position: int, why: str) -> ApiError:
    """A body that is no JSON (recording E5); position is the character where reading stopped."""
    detail = {
        "type": "json_invalid",
        "loc": ("body", position),
        "msg": "JSON decode error",
        "input": {},
        "ctx": {"error": why},
    }
    return ApiError(f"1 validation error:\n  {detail!r}", param=f"body.{position}", kind=SHAPE_ERROR)


def too_long(window: int, asked: int, prompt: int) -> ApiError:
    """Prompt and asked output do not fit the window (recordings E1, 54): the count is a lower bound, as vLLM's."""
    bound = window - asked + 1
    assert prompt >= bound
    return ApiError(
        f"This model's maximum context length is {window} tokens. However, you requested {asked} output tokens and "
        f"your prompt contains at least {bound} input tokens, for a total of at least {window + 1} tokens. Please "
        "reduce the length of the input prompt or the number of requested output tokens. "
        f"(parameter=input_tokens, value={bound})",
        param="input_tokens",
    )
