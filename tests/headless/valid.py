"""Checking what `pool run` prints and takes against the JSON Schema, fields that it does not describe included."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from pool.headless.schema import schema

Row = dict[str, Any]


@cache
def _validator(name: str) -> Any:
    whole = schema(strict=True)
    return Draft202012Validator({"$defs": whole["$defs"], "$ref": f"#/$defs/{name}"})


def faults(row: Row, prefix: str = "") -> list[str]:
    """What is wrong with a record; prefix is `input.` for a line of input."""
    return [f"{row['type']}: {error.message}" for error in _validator(prefix + row["type"]).iter_errors(row)]
