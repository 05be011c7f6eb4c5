"""Tools made of plain Python functions, for programs that use the agent."""

from __future__ import annotations

import asyncio
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, overload

from pool.messages import valid_text
from pool_tools import Effect, OutputSink, Preview, Tool, ToolResult, ToolSpec

_TYPES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class FunctionTool:
    """A function as a tool; `spec` is read from its signature and docstring."""

    def __init__(self, function: Callable[..., Any], name: str, effect: Effect) -> None:
        self._function = function
        about = inspect.cleandoc(function.__doc__ or "").strip()
        if not about:
            raise ValueError(f"the tool {name!r} needs a docstring: it is what the model is told of it")
        self.spec = ToolSpec(name, about, _parameters(function, name), effect)

    def preview(self, args: Mapping[str, Any]) -> Preview:
        """The call with its arguments, for whoever approves it."""
        given = ", ".join(f"{key}={value!r}" for key, value in args.items())
        return Preview("text", self.spec.name, f"{self.spec.name}({given})")

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        """Call the function; one that is no coroutine function is called in a thread of its own."""
        if inspect.iscoroutinefunction(self._function):
            value: Any = await self._function(**args)
        else:
            value = await asyncio.to_thread(self._function, **args)
        if isinstance(value, ToolResult):
            return value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        return ToolResult(True, valid_text(text) or "(nothing)")


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(*, name: str = "", effect: Effect | str = Effect.READ) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", effect: Effect | str = Effect.READ
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A tool of a function, coroutine or not: `@tool`, or `@tool(effect="write")`.

    The docstring tells the model what it does; parameters are str, bool, int, float, a list of these, or one of these
    or None; those with defaults may be left out. What it returns goes to the model, as JSON if it is no text; raise
    `ToolError` for what the model can mend. effect is read (runs unasked, and beside others), write, execute or
    network: what the approval mode decides by. The function runs in the program itself, outside of the sandbox.

    Raises ValueError for a function that has no docstring, and TypeError for a parameter of another type.
    """

    def made(given: Callable[..., Any]) -> Tool:
        return FunctionTool(given, name or getattr(given, "__name__", ""), Effect(effect))

    return made if function is None else made(function)


def _parameters(function: Callable[..., Any], name: str) -> dict[str, Any]:
    hints = typing.get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _NAMED:
            raise TypeError(f"the tool {name!r}: the parameter {parameter.name!r} cannot be given by name")
        hint = hints.get(parameter.name)
        schema = _schema(hint)
        if schema is None:
            raise TypeError(f"the tool {name!r}: the parameter {parameter.name!r} has the type {hint!r}")
        properties[parameter.name] = schema
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    return {"type": "object", "properties": properties, "required": required}


def _schema(hint: Any) -> dict[str, Any] | None:
    if hint in _TYPES:
        return dict(_TYPES[hint])
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        items = _schema(args[0])
        return {"type": "array", "items": items} if items else None
    if origin in (types.UnionType, typing.Union):
        kinds = [arg for arg in args if arg is not types.NoneType]
        return _schema(kinds[0]) if len(kinds) == 1 else None
    return None
