"""Reading a call's arguments: right type, valid Unicode, errors that name the parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pool_tools.api import ToolError
from pool_tools.text import valid_unicode


def text_argument(args: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """The string parameter name. Without a default it must be there."""
    value = args.get(name)
    if value is None:
        if default is None:
            raise ToolError(f"`{name}` is missing. Send it as a string.")
        return default
    if not isinstance(value, str):
        raise ToolError(f"`{name}` must be a string, not {type(value).__name__}.")
    return valid_unicode(value, f"`{name}`")


def integer_argument(args: Mapping[str, Any], name: str, default: int) -> int:
    """The integer parameter name."""
    value = args.get(name)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ToolError(f"`{name}` must be a whole number, not {value!r}.")
    return value


def number_argument(args: Mapping[str, Any], name: str, default: float) -> float:
    """The number parameter name."""
    value = args.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ToolError(f"`{name}` must be a number, not {value!r}.")
    return float(value)


def flag_argument(args: Mapping[str, Any], name: str) -> bool:
    """The boolean parameter name, false when it is absent."""
    value = args.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ToolError(f"`{name}` must be true or false, not {value!r}.")
    return value
