"""Whether one value of a setting allows more than another: what a checkout may not do, and what `[locked]` forbids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from pool.config.keys import Key, Trust
from pool.config.kinds import Choice, Thinking
from pool.config.settings import Budgets, Mode

_UNSET_AS_LIMIT = Mode.DEFAULT.value
_UNSET_AS_CHOICE = Mode.AUTO.value
"""Where no mode is set, it is `default` without a sandbox and `auto` with one; either way nothing may be widened."""

_EVERYTHING = "on"


def allows_more(key: Key, value: object, limit: object) -> bool:
    """Whether value allows more than limit does. Keys that cannot be compared must be equal."""
    match key.trust:
        case Trust.FREE | Trust.ADDS:
            return False
        case Trust.LOWER:
            return _number(value) > _number(limit)
        case Trust.NARROWER:
            return _wider(key, value, limit)
        case Trust.TRUSTED | Trust.OWNER:
            if key.adds and isinstance(value, tuple):
                return not set(cast(Sequence[object], value)) <= set(cast(Sequence[object], limit or ()))
            return value != limit


def narrowed(key: Key, value: object, limit: object) -> object:
    """The value, cut to what limit allows."""
    if key.trust is Trust.ADDS:
        return tuple(dict.fromkeys([*cast(Sequence[str], limit or ()), *cast(Sequence[str], value or ())]))
    if not allows_more(key, value, limit):
        return value
    if key.adds and isinstance(value, tuple):
        allowed = set(cast(Sequence[object], limit or ()))
        return tuple(x for x in cast(Sequence[object], value) if x in allowed)
    return limit


def _number(value: object) -> float:
    """A limit as a number, where 0 stands for none."""
    number = float(cast(float, value))
    return number or math.inf


def _wider(key: Key, value: object, limit: object) -> bool:
    match key.kind:
        case Choice(names=names):
            return names.index(str(value or _UNSET_AS_CHOICE)) > names.index(str(limit or _UNSET_AS_LIMIT))
        case Thinking(levels=levels):
            return _tokens(str(value), levels) > _tokens(str(limit), levels)
        case _:
            return _reaches_more(str(value), str(limit))


def _tokens(level: str, levels: object) -> int:
    named = {**cast(dict[str, int], levels), "off": 0, "on": Budgets().reasoning_turn}
    return named[level] if level in named else int(level)


def _reaches_more(value: str, limit: str) -> bool:
    """Networks: off, on, or a list; more is every host that the limit does not name in the same words."""
    wanted, allowed = _hosts(value), _hosts(limit)
    return _EVERYTHING not in allowed and not wanted <= allowed


def _hosts(text: str) -> frozenset[str]:
    words = (word.strip().lower() for word in text.split(","))
    return frozenset(w for w in words if w and w != "off")
