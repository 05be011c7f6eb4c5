"""The body of an error answer, whatever its shape: what it says, and what it is about."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any, cast

from pool_tools.frozen import frozen

MESSAGE_CHARS = 500
"""Most characters of a server's message that are kept; vLLM quotes the whole request in some of its refusals."""

MAX_TOKENS_TOLD = 1 << 40
"""Largest number of tokens that is believed, in a count or as a window: 2^40, a million times the largest window."""

_VALIDATION_MESSAGE = re.compile(r"""'msg': (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")""")
_PAGE = re.compile(rb"\s*(?:<!doctype html|<html|<head|<\?xml)", re.IGNORECASE)
_TITLE = re.compile(r"<(title|h1)[^>]*>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_BARE_NOT_FOUND = re.compile(r"(?:404 )?(?:page )?(?:not found|file not found)\W*", re.IGNORECASE)


@frozen
class ErrorBody:
    """An error object, read. codes are its `type` and `code` as text; is_page says that it was a web page."""

    message: str
    codes: tuple[str, ...] = ()
    parameter: str = ""
    prompt_tokens: int | None = None
    window: int | None = None
    is_page: bool = False

    @property
    def explains(self) -> bool:
        """Whether the message says more than that the address is not there."""
        return bool(self.message) and not _BARE_NOT_FOUND.fullmatch(self.message)


def read_error_body(body: bytes, content_type: str) -> ErrorBody:
    """Read any of the known shapes.

    `{"error": {"message", "type", "code", "param"}}` (vLLM, llama.cpp, Ollama's /v1, OpenRouter), `{"error": "text"}`
    (vLLM's 401, MLX, LM Studio), `{"object": "error", "message"}` (SGLang), `{"detail": text or list}` (FastAPI),
    a web page, plain text, or nothing. Ollama puts llama.cpp's whole answer, as text, into the `error` of its own.
    """
    if _PAGE.match(body) or "html" in content_type.lower():
        return ErrorBody(_page_text(body), is_page=True)
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ErrorBody(body.decode("utf-8", "replace").strip())
    while isinstance(parsed, list) and parsed:
        parsed = cast(list[Any], parsed)[0]
    if not isinstance(parsed, dict):
        return ErrorBody(str(parsed) if isinstance(parsed, str) else "")
    return _read_object(cast(dict[str, Any], parsed))


def shorten(message: str) -> str:
    """message on one line, without the request that validation errors quote, and not too long."""
    quoted = _VALIDATION_MESSAGE.search(message)
    if quoted and (said := quoted[1] or quoted[2]):
        message = said.replace("\\'", "'")
    message = " ".join("".join(ch if ch.isprintable() else " " for ch in message).split())
    return message if len(message) <= MESSAGE_CHARS else f"{message[: MESSAGE_CHARS - 1]}…"


def read_retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that the server asks to wait: `Retry-After` as a number or as an HTTP date, or `retry-after-ms`.

    now is Unix time, for the date form. None if there is no usable header.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    from email.utils import parsedate_to_datetime  # Slow to import, and seldom needed.

    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def unwrapped(error: Any) -> Any:
    """An error that is an object in JSON text as that object, taken out of its own `error`; any other as it is."""
    if not isinstance(error, str) or not error.lstrip().startswith("{"):
        return error
    try:
        value: Any = json.loads(error)
    except (ValueError, RecursionError):
        return error
    inner = cast(dict[str, Any], value).get("error") if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else error  # pyright: ignore[reportUnknownVariableType]


def _read_object(top: dict[str, Any]) -> ErrorBody:
    inner = unwrapped(top.get("error"))
    if isinstance(inner, str):
        return ErrorBody(inner, _codes(top))
    source = cast(dict[str, Any], inner) if isinstance(inner, dict) else top
    message = source.get("message")
    if not isinstance(message, str):
        message = _detail(source.get("detail")) or _detail(source.get("error")) or ""
    metadata = source.get("metadata")
    if isinstance(metadata, dict):
        message = _with_upstream(message, cast(dict[str, Any], metadata))
    parameter = source.get("param")
    return ErrorBody(
        message,
        _codes(source),
        parameter if isinstance(parameter, str) and parameter.isidentifier() else "",
        _count(source.get("n_prompt_tokens")),
        _count(source.get("n_ctx")),
    )


def _with_upstream(message: str, metadata: dict[str, Any]) -> str:
    """OpenRouter's own message says only that a provider failed; metadata has the provider and its words."""
    raw, provider = metadata.get("raw"), metadata.get("provider_name")
    words = [message]
    if isinstance(provider, str) and provider:
        words.append(f"({provider})")
    if isinstance(raw, str) and raw and raw != message:
        words.append(raw)
    return " ".join(words)


def _detail(detail: Any) -> str:
    if isinstance(detail, str):
        return detail
    if not isinstance(detail, list):
        return ""
    lines: list[str] = []
    for item in cast(list[Any], detail):
        if isinstance(item, dict):
            entry = cast(dict[str, Any], item)
            loc, message = entry.get("loc"), entry.get("msg")
            parts = cast(list[Any], loc) if isinstance(loc, list) else []
            where = ".".join(str(part) for part in parts if isinstance(part, (str, int)))
            lines.append(f"{where}: {message if isinstance(message, str) else ''}")
    return "; ".join(lines)


def _codes(source: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(source[name]) for name in ("type", "code") if isinstance(source.get(name), (str, int)))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_TOKENS_TOLD else None


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text) if re.fullmatch(r"\d{1,9}(?:\.\d+)?", text) else None


def _page_text(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    title = _TITLE.search(text)
    return re.sub(r"<[^>]*>", " ", title[2]).strip() if title else "a web page"
