"""Redacting a session's rows: every text in them, also inside the JSON that messages and calls carry as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from pool.messages import encode_json, valid_text
from pool.sessions.export.redact import Redactor

Row = dict[str, Any]

_IDS = frozenset({"id", "call", "tool_call_id", "run", "session", "agent"})
"""Keys of ids: a secret is taken out of them, the same everywhere, but no name."""

_FIXED = frozenset({"type", "role", "status", "kind"})
"""Keys of rows and messages whose values are words of Pool's."""

_TELLING = re.compile("passw|secret|token|key|credential|authorization", re.IGNORECASE)

_PACKED = {"message.added": "text", "head.set": "head"}


def redacted(rows: Sequence[Row], redactor: Redactor) -> tuple[list[Row], int]:
    """The rows without secrets and names, and how many were left out since they are nested too deeply to be read."""
    opened: list[Row] = []
    lost = 0
    for row in rows:
        try:
            opened.append(_learned(row, redactor))
        except RecursionError:
            lost += 1
    return [_closed(cast(Row, _mapped(row, redactor, top=True))) for row in opened], lost


def _learned(row: Row, redactor: Redactor) -> Row:
    """A row with its JSON unpacked, after the first pass over its texts."""
    opened = _opened(row)
    _each(opened, redactor.learn)
    return opened


def _opened(row: Row) -> Row:
    field = _PACKED.get(str(row.get("type")), "")
    text = row.get(field)
    if not isinstance(text, str):
        return row
    try:
        value: Any = json.loads(text)
    except ValueError:
        return row
    if isinstance(value, dict):
        for call in _calls(cast(Row, value)):
            function = call["function"]
            function["arguments"] = _parsed(function.get("arguments"))
    return {**row, field: value}


def _closed(row: Row) -> Row:
    field = _PACKED.get(str(row.get("type")), "")
    value = row.get(field)
    if not field or value is None or isinstance(value, str):
        return row
    if isinstance(value, dict):
        for call in _calls(cast(Row, value)):
            function = call["function"]
            if isinstance(function.get("arguments"), _Text):
                function["arguments"] = json.dumps(function["arguments"].value, ensure_ascii=False)
    return {**row, field: encode_json(value).decode()}


class _Text:
    """JSON that was text inside JSON, parsed."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        return arguments
    # Text that this would write otherwise stays text, so that its bytes stay.
    return _Text(value) if json.dumps(value, ensure_ascii=False) == arguments else arguments


def _calls(message: Row) -> list[Row]:
    calls: Any = message.get("tool_calls")
    if not isinstance(calls, list):
        return []
    return [c for c in cast(list[Any], calls) if isinstance(c, dict) and isinstance(c.get("function"), dict)]  # pyright: ignore[reportUnknownMemberType]


def _each(value: Any, call: Callable[[str], None]) -> None:
    """Call with every text in a value."""
    match value:
        case str():
            call(valid_text(value))
        case dict():
            for key, item in cast(dict[Any, Any], value).items():
                _each(key, call)
                _each(item, call)
                if isinstance(item, str) and _TELLING.search(str(key)):
                    call(f'"{key}":"{valid_text(item)}"')
        case list():
            for item in cast(list[Any], value):
                _each(item, call)
        case _Text():
            _each(value.value, call)
        case _:
            pass


def _mapped(value: Any, redactor: Redactor, *, top: bool = False, names: bool = True) -> Any:
    match value:
        case str():
            return redactor.clean(valid_text(value), names=names)
        case dict():
            return dict(_item(str(k), v, redactor, top=top) for k, v in cast(dict[Any, Any], value).items())
        case list():
            return [_mapped(item, redactor) for item in cast(list[Any], value)]
        case _Text():
            return _Text(_mapped(value.value, redactor))
        case _:
            return value


def _item(key: str, value: Any, redactor: Redactor, *, top: bool) -> tuple[str, Any]:
    """A key with its value, cleaned; what a text is can be told by its key (`"password": "..."`)."""
    if top and key in _FIXED:
        return key, value
    if isinstance(value, str) and _TELLING.search(key):
        before = f'"{key}":"'
        cleaned = redactor.clean(f'{before}{valid_text(value)}"', names=key not in _IDS)
        if cleaned.startswith(before) and cleaned.endswith('"'):
            return key, cleaned[len(before) : -1]
    message = top and isinstance(value, dict) and key in _PACKED.values()
    return redactor.clean(valid_text(key)), _mapped(value, redactor, top=message, names=key not in _IDS)
