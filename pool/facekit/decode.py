"""From a session log's rows back to events. Kinds and keys that are not known are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any, cast

from pool import events
from pool.events import Body, ChangedFile, Envelope, Event, StopReason, TodoItem, Usage

MADE = frozenset({"usage", "changes", "items", "reason"})
"""Fields whose values are objects of their own."""


def events_of(rows: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """The events of rows that can be understood."""
    for row in rows:
        event = event_of(row)
        if event is not None:
            yield event


def event_of(row: dict[str, Any]) -> Event | None:
    """The event of one row; None if its kind is unknown or a key that it needs is missing or of another type."""
    kind = _kinds().get(str(row.get("type")))
    if kind is None:
        return None
    values = _taken(kind, row)
    envelope = _taken(Envelope, row)
    if values is None or envelope is None:
        return None
    try:
        return Event(Envelope(**envelope), kind(**{k: _value(k, v) if k in MADE else v for k, v in values.items()}))
    except (TypeError, ValueError):
        return None


@lru_cache(maxsize=1)
def _kinds() -> dict[str, type[Body]]:
    found = [value for value in vars(events).values() if isinstance(value, type) and issubclass(value, Body)]
    return {kind.type: kind for kind in found if kind.type}


@lru_cache(maxsize=64)
def _keys(kind: type[Any]) -> tuple[tuple[str, str, bool, type[Any] | None], ...]:
    """Field, key in a row, whether it may be missing, and its plain type if it has one."""
    plain = {"str": str, "int": int, "bool": bool, "dict[str, Any]": dict}
    return tuple(
        (
            f.name,
            f.name.rstrip("_"),
            f.default is not MISSING or f.default_factory is not MISSING,
            plain.get(str(f.type)),
        )
        for f in fields(kind)
    )


def _taken(kind: type[Any], row: dict[str, Any]) -> dict[str, Any] | None:
    out: dict[str, Any] = {}
    for name, key, optional, wanted in _keys(kind):
        if key in row:
            value = row[key]
            if wanted is not None and not isinstance(value, wanted):
                return None
            out[name] = value
        elif not optional:
            return None
    return out


def _value(name: str, value: Any) -> Any:
    match name, value:
        case "usage", dict():
            found = cast(dict[str, Any], value)
            return Usage(**{f.name: found[f.name] for f in fields(Usage) if f.name in found})
        case "changes", list():
            return tuple(
                ChangedFile(str(c["path"]), str(c["kind"]), int(c.get("added", 0)), int(c.get("removed", 0)))
                for c in cast(list[dict[str, Any]], value)
            )
        case "items", list():
            found = cast(list[dict[str, Any]], value)
            return tuple(TodoItem(str(item["text"]), str(item.get("state", "open"))) for item in found)
        case "reason", str() if value in set(StopReason):
            return StopReason(value)
        case _:
            return value
