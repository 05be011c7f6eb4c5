"""A module's public functions as a server of the Model Context Protocol on standard input and output.

`functions.py` ends with `if __name__ == "__main__": serve(globals())`. Standard library only, so that it runs in any
image. A function's description is its docstring up to the first line `name: what it is`; such lines describe its
parameters. Annotations give the types: str, int, float, bool, list[str], Literal[...]; a default makes it optional.
"""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

PROTOCOL = "2025-06-18"
TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
METHOD_NOT_FOUND = -32601


def serve(names: Mapping[str, Any]) -> None:
    """Answer requests, one a line, until standard input ends."""
    functions = public_functions(names)
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        if "id" not in message:
            continue
        answer = _answer(functions, str(message.get("method")), message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}, ensure_ascii=False), flush=True)


def public_functions(names: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Functions that a module itself defines and that do not begin with an underscore."""
    module = names.get("__name__")
    return {
        name: value
        for name, value in names.items()
        if inspect.isfunction(value) and value.__module__ == module and not name.startswith("_")
    }


def described(function: Callable[..., Any]) -> dict[str, Any]:
    """A function as a tool: name, description, inputSchema."""
    about, told = _documented(inspect.getdoc(function) or "")
    types = typing.get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        properties[name] = {**_schema(types.get(name, str)), "description": told.get(name, name)}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        else:
            properties[name]["default"] = parameter.default
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": function.__name__, "description": about, "inputSchema": schema}


def _documented(doc: str) -> tuple[str, dict[str, str]]:
    """The description, and what is said of each parameter."""
    about: list[str] = []
    told: dict[str, str] = {}
    for line in doc.splitlines():
        name, colon, rest = line.partition(": ")
        if colon and name.isidentifier():
            told[name] = rest.strip()
        elif not told and line.strip():
            about.append(line.strip())
    return " ".join(about), told


def _schema(kind: Any) -> dict[str, Any]:
    origin = typing.get_origin(kind)
    if origin is Literal:
        return {"type": "string", "enum": list(typing.get_args(kind))}
    if origin is list:
        return {"type": "array", "items": _schema(typing.get_args(kind)[0])}
    return {"type": TYPES[kind]}


def _answer(functions: Mapping[str, Callable[..., Any]], method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            info = {"name": "functions", "version": "1"}
            return _result({"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": info})
        case "ping":
            return _result({})
        case "tools/list":
            return _result({"tools": [described(function) for function in functions.values()]})
        case "tools/call":
            return _result(_called(functions, str(params.get("name")), params.get("arguments") or {}))
        case _:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"there is no method {method}"}}


def _result(value: dict[str, Any]) -> dict[str, Any]:
    return {"result": value}


def _called(functions: Mapping[str, Callable[..., Any]], name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    function = functions.get(name)
    if function is None:
        return _text(f"there is no function {name!r}", failed=True)
    try:
        inspect.signature(function).bind(**arguments)
        value = function(**arguments)
    except (TypeError, ValueError, KeyError) as error:
        return _text(f"{name}: {error}", failed=True)
    return _text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), failed=False)


def _text(text: str, *, failed: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}
