"""Ollama's own chat API, `POST /api/chat`: the form of its messages and requests.

It differs from its `/v1` API in what an agent needs most: a request can say how large the context window is to be
(`options.num_ctx`), and that a prompt which does not fit is an error (`truncate`, since 0.12.6; earlier ones ignore the
field and drop the front of the prompt without a word).
"""

from __future__ import annotations

import json
from typing import Any

from pool.messages import Encoded, Message, Role, encode_json, valid_text
from pool.wire.request import Head, RequestShape, merge

API_PATH = "/api"
"""Path of a base URL that means this API."""


def encode_message(message: Message) -> Encoded:
    """Encode a message in Ollama's own form: arguments are objects, reasoning is `thinking`, results name their tool.

    Laguna's templates tie results to calls by order; other templates there need the tool's name, or the call's id
    (known to 0.12.10 and later).
    """
    out: dict[str, Any] = {"role": message.role.value, "content": valid_text(message.content)}
    if message.role is Role.TOOL:
        out["tool_name"] = message.tool
        out["tool_call_id"] = message.call_id
    if message.reasoning:
        out["thinking"] = valid_text(message.reasoning)
    if message.calls:
        out["tool_calls"] = [
            {"id": c.id, "function": {"name": c.name, "arguments": json.loads(valid_text(c.arguments))}}
            for c in message.calls
        ]
    return Encoded(message, encode_json(out))


def head_fields(head: Head) -> dict[str, Any]:
    """The head: thinking as `think`, sampling and window as `options`.

    `truncate` and `shift` are off: without them the server drops the oldest messages of a prompt that is too long, and
    the older half of a conversation when the window fills up during a reply, both in silence.
    """
    out: dict[str, Any] = {"model": head.model}
    if head.tools:
        out["tools"] = list(head.tools)
    out["think"] = head.thinking
    out["truncate"] = False
    out["shift"] = False
    options: dict[str, Any] = {"num_ctx": head.window} if head.window else {}
    for name in ("temperature", "top_p", "top_k"):
        value = getattr(head.sampling, name)
        if value is not None:
            options[name] = value
    options.update(head.sampling.extra)
    out["options"] = options
    merge(out, head.extra)
    return out


def _tail(max_tokens: int, tool_choice: str) -> dict[str, Any]:
    """What each request adds. The API has no tool_choice: calls that come anyway are answered, not run."""
    return {"stream": True, "options": {"num_predict": max_tokens}}


NATIVE = RequestShape(
    path="chat",
    encode=encode_message,
    head=head_fields,
    tail=_tail,
    thinking_field="think",
    open_field="options",
    sets_window=True,
)
"""Ollama's own chat API. Source: api/types.go and server/routes.go of 0.33 (August 2026)."""
