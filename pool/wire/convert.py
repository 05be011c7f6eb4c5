"""Conversions between JSON types that keep the meaning: `"20"` is 20, `"True"` is true, `"[\\"a\\"]"` is a list."""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import Any

from pool.wire.jsontext import canonical, read_prefix

MAX_LITERAL_CHARS = 100_000
"""Longest text that is read as a Python literal; longer text is only tried as JSON."""

_INTEGER = re.compile(r"([+-]?\d{1,30})(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BOOLEANS = {"true": True, "false": False}
_NULLS = frozenset({"null", "none"})


class _Unfit:
    """Says that a value cannot take a type."""


UNFIT = _Unfit()
"""What `as_type` gives where a value cannot take the type."""


def literal(text: str) -> Any:
    """The value that a text means as JSON, else as a Python literal, else the text itself.

    This is what vLLM's and SGLang's parsers do with arguments that are not declared as strings.
    """
    trimmed = text.strip()
    for read in (_from_json, _from_python):
        try:
            return read(trimmed)
        except ValueError:
            continue
    return text


def as_type(value: Any, types: frozenset[str]) -> Any:
    """The value as one of the types, the very same object if it is one already; `UNFIT` if it cannot be."""
    own = type_of(value)
    if not types or own in types or (own == "integer" and "number" in types):
        return value
    if isinstance(value, str):
        return _text_as_type(value, types)
    if isinstance(value, float) and "integer" in types and value.is_integer():
        return int(value)
    if "string" in types and value is not None:
        return canonical(value)
    return UNFIT


def _text_as_type(text: str, types: frozenset[str]) -> Any:
    trimmed = text.strip()
    whole = _INTEGER.fullmatch(trimmed)
    if whole and types & {"integer", "number"}:
        return int(whole[1])
    if "number" in types and _NUMBER.fullmatch(trimmed) and math.isfinite(float(trimmed)):
        return float(trimmed)
    if "boolean" in types and trimmed.casefold() in _BOOLEANS:
        return _BOOLEANS[trimmed.casefold()]
    if "null" in types and trimmed.casefold() in _NULLS:
        return None
    if types & {"array", "object"}:
        value = literal(text)
        if type_of(value) in types and not isinstance(value, str):
            return value
    return UNFIT


def _from_json(text: str) -> Any:
    value, end, _ = read_prefix(text)
    if end != len(text):
        raise ValueError(text)
    return value


def _from_python(text: str) -> Any:
    if len(text) > MAX_LITERAL_CHARS:
        raise ValueError("too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
        return _from_json(canonical(value))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(text) from error


def type_of(value: object) -> str:
    """The JSON type name of a decoded value; a whole number is `integer`."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"
