"""What a person lets commands reach while a session runs: for a time or until its end, and taken back at will."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pool_tools.frozen import frozen
from pool_tools.network.rules import AllowList, RuleError

_SECONDS = {"s": 1, "m": 60, "h": 3_600}
_DURATION = re.compile(r"([0-9]{1,6})([smh])")


@frozen
class Grant:
    """text is what was granted, as `--net` takes it. until is by `time.monotonic`, None for the session's end."""

    text: str
    allow: AllowList
    until: float | None = None


class Grants:
    """The list that a session began with, and what was granted since. clock gives seconds, as `time.monotonic`."""

    def __init__(self, base: AllowList, clock: Callable[[], float] = time.monotonic) -> None:
        self._base = base
        self._clock = clock
        self._given: dict[str, Grant] = {}

    @property
    def allow(self) -> AllowList:
        """All that may be reached now."""
        allow = self._base
        for grant in self.current():
            allow = allow.merged(grant.allow)
        return allow

    def current(self) -> tuple[Grant, ...]:
        """Grants that hold now, oldest first."""
        now = self._clock()
        self._given = {text: g for text, g in self._given.items() if g.until is None or g.until > now}
        return tuple(self._given.values())

    def add(self, text: str, allow: AllowList, seconds: float | None = None) -> Grant:
        """Grant something from now on. What was granted by the same text before is replaced, but never shortened."""
        until = None if seconds is None else self._clock() + seconds
        before = next((grant for grant in self.current() if grant.text == text), None)
        if before is not None and (before.until is None or (until is not None and before.until > until)):
            until = before.until
        grant = self._given[text] = Grant(text, allow, until)
        return grant

    def revoke(self, text: str) -> bool:
        """Take a grant back; False if there is none by that text. Connections that are open go on."""
        self.current()
        return self._given.pop(text, None) is not None

    def seconds_left(self, grant: Grant) -> float | None:
        """None for a grant that ends with the session."""
        return None if grant.until is None else max(0.0, grant.until - self._clock())


def seconds_of(text: str) -> float:
    """`30s`, `10m` or `2h` as seconds. Raises `RuleError`."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or not int(found[1]):
        raise RuleError(f"{text!r} is no time; give one such as 30s, 10m or 2h")
    return float(int(found[1]) * _SECONDS[found[2]])
