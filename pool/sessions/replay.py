"""From a log's rows back to what a session needs: its messages' exact bytes, its head, and where counting goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pool.messages import Encoded, Message, ReasoningField, Role, ToolCall


@dataclass(slots=True)
class Resumed:
    """What a log says. messages are in order, the system message first; head is the last head's JSON text."""

    messages: list[Encoded] = field(default_factory=list[Encoded])
    head: str = ""
    next_seq: int = 0
    runs: int = 0


def resumed(rows: Iterable[dict[str, Any]]) -> Resumed:
    """Play the rows. Unknown kinds are skipped."""
    out = Resumed()
    for row in rows:
        out.next_seq = max(out.next_seq, int(row.get("seq", -1)) + 1)
        match row.get("type"):
            case "head.set":
                out.head = str(row.get("head", ""))
            case "history.compacted":
                del out.messages[1:]
            case "message.added":
                if row.get("replaces_last") and out.messages:
                    out.messages.pop()
                out.messages.append(decode(str(row["text"])))
            case "run.started":
                out.runs += 1
            case _:
                pass
    return out


def decode(text: str) -> Encoded:
    """A message from its exact JSON, in OpenAI's or Ollama's form."""
    row: dict[str, Any] = json.loads(text)
    role = Role(row["role"])
    fields = [f for f in ("reasoning", "reasoning_content", "thinking") if row.get(f)]
    both = len(fields) > 1
    name = ReasoningField.BOTH if both else _FIELDS.get(fields[0] if fields else "", ReasoningField.NONE)
    calls: list[dict[str, Any]] = row.get("tool_calls") or []
    message = Message(
        role,
        row.get("content") or "",
        row.get(fields[0], "") if fields else "",
        name,
        tuple(_call(c) for c in calls),
        row.get("tool_call_id", ""),
    )
    return Encoded(message, text.encode())


_FIELDS = {
    "reasoning": ReasoningField.REASONING,
    "thinking": ReasoningField.REASONING,
    "reasoning_content": ReasoningField.REASONING_CONTENT,
}


def _call(row: dict[str, Any]) -> ToolCall:
    function: dict[str, Any] = row["function"]
    arguments = function.get("arguments", "{}")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(row.get("id", "")), str(function["name"]), text)
