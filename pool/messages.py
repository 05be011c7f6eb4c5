"""Chat messages, encoded once to the JSON bytes that every later request carries.

A message is turned into bytes when it enters the history and never again: the server's prefix cache sees the same
bytes turn after turn, and a resumed session joins the same bytes. Text is made valid Unicode here, at the one gate.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any

from pool_tools.frozen import frozen

_SURROGATE = re.compile("[\ud800-\udfff]")


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class ReasoningField(StrEnum):
    """Under which name(s) earlier reasoning is sent back. vLLM reads `reasoning`, llama.cpp `reasoning_content`.

    THINKING is the name in Ollama's own API, whose messages have a form of their own.
    """

    REASONING = "reasoning"
    REASONING_CONTENT = "reasoning_content"
    THINKING = "thinking"
    BOTH = "both"
    NONE = "none"


@frozen
class ToolCall:
    """A call as kept in the history. arguments is the JSON text of an object."""

    id: str
    name: str
    arguments: str


@frozen
class Message:
    """One chat message. `calls` and `reasoning` only with role assistant, `call_id` and `tool` only with role tool.

    tool is the name of the tool that was called.
    """

    role: Role
    content: str
    reasoning: str = ""
    reasoning_field: ReasoningField = ReasoningField.NONE
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""


@frozen
class Encoded:
    """A message with its exact bytes (UTF-8 JSON, no newline)."""

    message: Message
    data: bytes


def valid_text(text: str) -> str:
    """Text without lone surrogates: pairs are joined to the character they mean, the rest becomes U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode_json(value: Any) -> bytes:
    """Compact UTF-8 JSON; raises `UnicodeEncodeError` on lone surrogates (pass text through `valid_text` first)."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def encode(message: Message) -> Encoded:
    """Encode a message as OpenAI's API has it. An assistant message gets its reasoning back under its field."""
    out: dict[str, Any] = {"role": message.role.value}
    if message.role is Role.TOOL:
        out["tool_call_id"] = message.call_id
    out["content"] = valid_text(message.content)
    if message.reasoning:
        reasoning = valid_text(message.reasoning)
        if message.reasoning_field in (ReasoningField.REASONING, ReasoningField.BOTH):
            out["reasoning"] = reasoning
        if message.reasoning_field in (ReasoningField.REASONING_CONTENT, ReasoningField.BOTH):
            out["reasoning_content"] = reasoning
    if message.calls:
        out["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": valid_text(c.arguments)}}
            for c in message.calls
        ]
    return Encoded(message, encode_json(out))


def system(text: str) -> Message:
    """The system message; the first of every request."""
    return Message(Role.SYSTEM, text)


def user(text: str) -> Message:
    """A user message."""
    return Message(Role.USER, text)


def tool_result(call_id: str, text: str, tool: str = "") -> Message:
    """The result of a call of tool."""
    return Message(Role.TOOL, text, call_id=call_id, tool=tool)
