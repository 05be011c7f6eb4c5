"""A sign that an answer has run away: for a long stretch its end is nothing but repetition.

An answer may hold tables, lists and code, whose rows differ in little. So the stretch is longer than a thought's and
the bound is lower. Measured on stretches of 8 KB: lists and tables whose rows differ in a number alone compress to 4 %
and more, an identity matrix to 2.2 %, a phrase or a sentence that goes round to 0.5 to 1.2 %. A paragraph that goes
round takes up to 4 %, so it is found by being exactly the same again.
"""

from __future__ import annotations

import zlib

from pool.agent.guards.signals import Finding

TAIL_BYTES = 8192
STEP_BYTES = 2048
FINDINGS_IN_ROW = 3
"""So many looks in a row have to find it: the stretch is then at least 12 KB, some 3,000 tokens."""

LONGEST_PERIOD_SHARE = 0.25
"""A stretch that consists of exact copies of a block of at most this share of it repeats itself."""

KEEP_STEP_CHARS = 512
KEEP_RATIO_FACTOR = 2
"""What comes after the answer's sound part compresses to less than so many times the bound."""

_PROBE_BYTES = 64


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
        found = self._look()
        self._in_row = self._in_row + 1 if found else 0
        return Finding("repetition", found) if found and self._in_row >= FINDINGS_IN_ROW else None

    def _look(self) -> str:
        ratio = len(zlib.compress(self._tail, 6)) / len(self._tail)
        if ratio < self._zlib_ratio:
            return f"its last {len(self._tail):,} bytes compress to {ratio:.1%}"
        period = exact_period(self._tail) if self._zlib_ratio else 0
        return f"its last {len(self._tail):,} bytes are the same {period:,} again and again" if period else ""

    @property
    def keep(self) -> int:
        """How many characters come before the part that only repeats itself."""
        text = "".join(self._parts)
        for at in range(0, len(text), KEEP_STEP_CHARS):
            rest = text[at:].encode("utf-8", "replace")
            if len(zlib.compress(rest, 6)) < len(rest) * self._zlib_ratio * KEEP_RATIO_FACTOR:
                return at
        return len(text)


def exact_period(data: bytes) -> int:
    """The length of the block of which data consists, copy after copy, 0 if there is none that is short enough."""
    most = int(len(data) * LONGEST_PERIOD_SHARE)
    at = data.find(data[:_PROBE_BYTES], 1, most + _PROBE_BYTES)
    while at > 0:
        if data[at:] == data[:-at]:
            return at
        at = data.find(data[:_PROBE_BYTES], at + 1, most + _PROBE_BYTES)
    return 0
