"""Taking secrets, home folders and names out of a run's files before others see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pool.sessions.export.redact import Redactor

KEPT_KEYS = frozenset(
    {"schema_version", "session_id", "trajectory_id", "tool_call_id", "source_call_id", "function_name", "source"}
)
"""Fields of a trajectory whose values name things in it: changed, they would no longer fit each other."""

DEEPEST = 200
"""Levels of JSON that are looked at; what lies deeper is left out, since nothing of ours is nested like that."""

TOO_DEEP = "[left out: nested too deeply]"


def learn(value: Any, redactor: Redactor) -> None:
    """First pass over JSON: note the secrets in it."""
    for text in _texts(value):
        redactor.learn(text)


def cleaned(value: Any, redactor: Redactor, deep: int = 0) -> Any:
    """Second pass: the same JSON with clean texts; keys stay, but those that are secrets."""
    if deep > DEEPEST:
        return TOO_DEEP
    match value:
        case str():
            return redactor.clean(value)
        case dict():
            rows = cast("dict[str, Any]", value)
            return {
                redactor.clean(key, names=False): one if key in KEPT_KEYS else cleaned(one, redactor, deep + 1)
                for key, one in rows.items()
            }
        case list():
            return [cleaned(one, redactor, deep + 1) for one in cast("list[Any]", value)]
        case _:
            return value


def _texts(value: Any) -> Iterator[str]:
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += cast("dict[str, Any]", one).values()
        elif isinstance(one, list):
            waiting += cast("list[Any]", one)
