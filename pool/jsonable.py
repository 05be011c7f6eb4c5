"""What is written as JSON: dataclasses, enums and tuples as plain values."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """Turn dataclasses, enums and tuples into what a JSON encoder takes."""
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "__dataclass_fields__"):
        return {f.name.rstrip("_"): plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value
