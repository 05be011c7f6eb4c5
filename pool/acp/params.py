"""Reading parameters: each function gives a value of the wanted type or raises an error that names the parameter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pool.extend.acp.errors import bad_params

Json = dict[str, Any]


def text(params: Json, name: str) -> str:
    """A text that has to be there."""
    value = params.get(name)
    if not isinstance(value, str):
        raise bad_params(f"`{name}` is missing or no text")
    return value


def optional_text(params: Json, name: str) -> str:
    """A text, "" where it is absent or null."""
    return "" if params.get(name) is None else text(params, name)


def number(params: Json, name: str) -> int:
    """A whole number that has to be there."""
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_params(f"`{name}` is missing or no whole number")
    return value


def table(params: Json, name: str) -> Json:
    """An object, empty where it is absent or null."""
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_params(f"`{name}` has to be an object")
    return cast(Json, value)


def rows(params: Json, name: str) -> Sequence[Json]:
    """A list of objects, empty where it is absent or null."""
    value = params.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in cast(list[object], value)):
        raise bad_params(f"`{name}` has to be a list of objects")
    return cast(list[Json], value)


def path(params: Json, name: str) -> str:
    """An absolute path."""
    value = text(params, name)
    if not os.path.isabs(value) or "\0" in value:
        raise bad_params(f"`{name}` has to be an absolute path, and is {value!r}")
    return value


def folder(params: Json, name: str) -> Path:
    """An absolute path of a folder that is there."""
    value = path(params, name)
    if not os.path.isdir(value):
        raise bad_params(f"`{name}` {value!r} is no folder")
    return Path(value)


def offered(params: Json, name: str) -> Json:
    """An object where anything may stand, as in capabilities; what cannot be used is not offered."""
    value = params.get(name)
    return cast(Json, value) if isinstance(value, dict) else {}


def meta(params: Json) -> Json:
    """What is beside the protocol."""
    return offered(params, "_meta")
