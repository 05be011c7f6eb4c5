"""Errors of JSON-RPC, by their codes."""

from __future__ import annotations

from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
"""A request was taken back with `$/cancel_request`."""

RESOURCE_NOT_FOUND = -32002
"""A session or a file is not there."""


class RpcError(Exception):
    """An error to answer a request with, or one that a request was answered with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def to_json(self) -> dict[str, Any]:
        """The `error` member of a response."""
        out: dict[str, Any] = {"code": self.code, "message": str(self)}
        if self.data is not None:
            out["data"] = self.data
        return out


class Gone(Exception):
    """The other side has closed the connection, so nothing will be answered."""


def bad_params(message: str) -> RpcError:
    """Parameters that cannot be used; message says which one and what is wanted."""
    return RpcError(INVALID_PARAMS, message)
