"""A sign that an answer has run away: for a long stretch its end is nothing but repetition.

An answer may hold tables, lists and code, whose rows differ in little. So the stretch is longer than a thought's, and
the bounds are lower: a table of 300 rows that differ in a number alone compresses to 9 % and more, a phrase that goes
round to 1 or 2 %.
"""

from __future__ import annotations

import zlib

from pool.agent.guards.signals import Finding

TAIL_BYTES = 8192
STEP_BYTES = 2048
FINDINGS_IN_ROW = 3
"""So many looks in a row have to find it: the stretch is then at least 12 KB, some 3,000 tokens."""

KEEP_STEP_CHARS = 512


class AnswerSignals:
    """Watches one answer. Feed text as it comes; a finding, once made, stands."""

    def __init__(self, zlib_ratio: float) -> None:
        """zlib_ratio: a stretch that compresses to less repeats itself; 0: none does."""
        self._zlib_ratio = zlib_ratio
        self._tail = b""
        self._since_look = 0
        self._in_row = 0
        self._parts: list[str] = []

    def feed(self, text: str) -> Finding | None:
        """Take more of the answer; what it shows, if anything."""
        data = text.encode("utf-8", "replace")
        self._parts.append(text)
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        self._since_look += len(data)
        if self._since_look < STEP_BYTES or len(self._tail) < TAIL_BYTES:
            return None
        self._since_look = 0
        ratio = len(zlib.compress(self._tail, 6)) / len(self._tail)
        self._in_row = self._in_row + 1 if ratio < self._zlib_ratio else 0
        if self._in_row < FINDINGS_IN_ROW:
            return None
        return Finding("repetition", f"its last {len(self._tail):,} bytes compress to {ratio:.0%}")

    @property
    def keep(self) -> int:
        """How many characters come before the part that only repeats itself."""
        text = "".join(self._parts)
        for at in range(0, len(text), KEEP_STEP_CHARS):
            rest = text[at:].encode("utf-8", "replace")
            if len(zlib.compress(rest, 6)) < len(rest) * self._zlib_ratio * 2:
                return at
        return len(text)
