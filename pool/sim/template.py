"""The chat template: messages to prompt text, in the frame of Laguna's serving template, without newlines between tags.

The frame's marks, the order of its parts and what `enable_thinking` does follow the published template as described
for Laguna S 2.1; the words of the tool section are the simulator's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pool.sim.errors import ApiError
from pool.sim.tokens import ASSISTANT, BOS, CALL, END_CALL, END_KEY, END_THINK, END_TURN, END_VALUE, KEY, THINK, VALUE

DEFAULT_SYSTEM = "You are a helpful coding assistant."
TOOLS_INTRO = "\n\n### Tools\n\nYou may call functions to assist with the user query.\n"


@dataclass(frozen=True, slots=True)
class Rendering:
    """How to render. thinks: whether thoughts are asked for. preserve: show old thoughts although thinks is false.

    generate: end with the start of an assistant turn. continue_final: leave the last message open instead.
    """

    thinks: bool
    preserve: bool = False
    generate: bool = True
    continue_final: bool = False


def render(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], how: Rendering) -> str:
    """The prompt text. Raises `ApiError` for call arguments in the history that are not a JSON object."""
    parts = [BOS]
    first, rest = (messages[0], messages[1:]) if messages and messages[0].get("role") == "system" else (None, messages)
    system = text_of(first.get("content")) if first is not None else DEFAULT_SYSTEM
    if system or tools:
        parts.append(f"<system>{system}{_tool_section(tools)}</system>\n")
    parts.extend(_message(message, how) for message in rest)
    if how.continue_final and parts:
        parts[-1] = parts[-1].removesuffix("\n").removesuffix(END_TURN).removesuffix("</user>")
    elif how.generate:
        parts.append(ASSISTANT + (THINK if how.thinks else END_THINK))
    return "".join(parts)


def text_of(content: object) -> str:
    """A message's content as plain text: text parts of a list are joined, as vLLM does before its template."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [cast("Mapping[str, Any]", part) for part in cast("list[object]", content) if isinstance(part, dict)]
        return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    return ""


def thought_of(message: Mapping[str, Any]) -> str:
    """The thought that a client sent back: `reasoning`, or its older name, which vLLM renames on arrival."""
    return str(message.get("reasoning") or message.get("reasoning_content") or "")


def calls_of(message: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Calls of an assistant message as (id, name, arguments).

    Raises `ApiError` if arguments are not a JSON object: vLLM 0.25.1 refuses them (recording E12), and its template
    fails on a list.
    """
    found: list[tuple[str, str, dict[str, Any]]] = []
    for call in cast("list[Mapping[str, Any]]", message.get("tool_calls") or []):
        function = cast("Mapping[str, Any]", call.get("function") or {})
        found.append((str(call.get("id") or ""), str(function.get("name") or ""), _arguments(function)))
    return found


def _arguments(function: Mapping[str, Any]) -> dict[str, Any]:
    arguments: object = function.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) or {}
        except ValueError as error:
            raise ApiError(str(error)) from error
    if not isinstance(arguments, dict):
        raise ApiError("Can only get item pairs from a mapping.")
    return cast("dict[str, Any]", arguments)


def call_markup(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as the model writes it: strings raw, everything else as JSON."""
    values = "".join(f"{KEY}{key}{END_KEY}{VALUE}{_value(value)}{END_VALUE}" for key, value in arguments.items())
    return f"{CALL}{name}{values}{END_CALL}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _message(message: Mapping[str, Any], how: Rendering) -> str:
    role, content = message.get("role"), text_of(message.get("content"))
    match role:
        case "assistant":
            thought = thought_of(message)
            opening = f"{THINK}{thought}{END_THINK}" if how.thinks or (how.preserve and thought) else END_THINK
            calls = "".join(call_markup(name, arguments) for _, name, arguments in calls_of(message))
            return f"{ASSISTANT}{opening}{content}{calls}{END_TURN}\n"
        case "tool":
            return f"<tool_response>{content}</tool_response>\n"
        case "system":
            return f"<system>{content}</system>\n"
        case _:
            # An unknown role is accepted (recording E9).
            return f"<user>{content}</user>\n"


def _tool_section(tools: Sequence[Mapping[str, Any]]) -> str:
    if not tools:
        return ""
    listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    return f"{TOOLS_INTRO}<available_tools>\n{listed}\n</available_tools>"
