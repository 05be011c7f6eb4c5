"""Grammars: what `response_format` allows a reply to be, and the smallest thing that fits a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pool.sim.errors import ApiError
from pool.sim.tokens import CALL

Json = Mapping[str, Any]
DEEPEST = 20
"""Levels of a schema that are filled; below them stands null."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a reply's content may be: an instance of schema, or (schema None) a call of one of these tools."""

    schema: Json | None = None
    tools: tuple[str, ...] = ()


def read_form(body: Json) -> Form | None:
    """The grammar of a request body, None for none. Raises `ApiError` for a form that cannot be read.

    Of structural tags only those that begin a call are known: `<tool_call>NAME`, alone or several under `or`.
    """
    given = _object(body.get("response_format"))
    match given.get("type"):
        case "json_schema":
            schema = _object(given.get("json_schema")).get("schema")
            if not isinstance(schema, Mapping):
                raise ApiError("response_format of type json_schema needs a schema.", param="response_format")
            return Form(cast(Json, schema))
        case "structural_tag":
            format_ = _object(given.get("format"))
            elements = format_.get("elements") if format_.get("type") == "or" else [format_]
            tags = [_object(element) for element in cast("list[object]", elements or [])]
            begins = [str(tag.get("begin", "")) for tag in tags]
            return Form(tools=tuple(begin.removeprefix(CALL) for begin in begins if begin.startswith(CALL)))
        case _:
            return None


def instance(schema: Json, deep: int = 0) -> Any:
    """The smallest value that fits the usual parts of a schema: type, enum, const, required, minimum, minItems."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if deep > DEEPEST:
        return None
    match _type(schema):
        case "object":
            properties = _object(schema.get("properties"))
            names = cast("list[str]", schema.get("required") or list(properties))
            return {name: instance(_object(properties.get(name)), deep + 1) for name in names}
        case "array":
            return [instance(_object(schema.get("items")), deep + 1)] * int(schema.get("minItems") or 0)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return "text"


def _type(schema: Json) -> str:
    """The type of an instance, the first of several; "" if none is told."""
    told: object = schema.get("type")
    several = [str(one) for one in cast("list[object]", told)] if isinstance(told, list) else [str(told or "")]
    return several[0] if several else ""


def _object(value: object) -> Json:
    return cast(Json, value) if isinstance(value, Mapping) else {}
