"""OpenAI's Responses form (`/v1/responses`), which Codex speaks, put as chat messages.

Items of a request's `input` and of a response's `output`: `message`, `function_call`, `function_call_output`,
`custom_tool_call`, `local_shell_call`, `reasoning` (https://platform.openai.com/docs/api-reference/responses).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

ENDING = "/responses"

Json = dict[str, Any]


def messages(request: Mapping[str, Any]) -> list[Json]:
    """A request's instructions and input as chat messages."""
    out: list[Json] = []
    if request.get("instructions"):
        out.append({"role": "system", "content": str(request["instructions"])})
    given: Any = request.get("input")
    if isinstance(given, str):
        return [*out, {"role": "user", "content": given}]
    for item in _rows(given):
        kind = str(item.get("type", "message"))
        if kind == "message":
            out.append({"role": item.get("role"), "content": _text(item.get("content"))})
        elif kind.endswith("_output"):
            result = item.get("output")
            text = result if isinstance(result, str) else _text(result) or json.dumps(result)
            out.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": text})
    return out


def outputs(row: Mapping[str, Any]) -> Iterator[Json]:
    """What a whole response, or the event that ends a streamed one, holds: each item as a message of the model."""
    kind = str(row.get("type", ""))
    response: Any = row.get("response") if kind in ("response.completed", "response.incomplete") else row
    if not isinstance(response, dict):
        return
    calls = 0
    for item in _rows(cast(Json, response).get("output")):
        match item.get("type"):
            case "message":
                yield {"content": _text(item.get("content"))}
            case "reasoning":
                yield {"reasoning": _text(item.get("summary")) or _text(item.get("content"))}
            case "function_call" | "custom_tool_call" | "local_shell_call" as what:
                yield {"tool_calls": [{"index": calls, "id": item.get("call_id"), "function": _function(item, what)}]}
                calls += 1
            case _:
                continue


def _function(item: Mapping[str, Any], what: str) -> Json:
    arguments: Any = item.get("arguments")
    if what == "custom_tool_call":
        arguments = json.dumps({"input": item.get("input")})
    elif what == "local_shell_call":
        arguments = json.dumps(item.get("action"))
    return {"name": item.get("name") or what, "arguments": arguments}


def _rows(value: Any) -> list[Json]:
    if not isinstance(value, list):
        return []
    return [cast(Json, one) for one in cast("list[Any]", value) if isinstance(one, dict)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(str(part.get("text", "")) for part in _rows(value))
