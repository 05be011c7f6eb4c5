"""Watching the prompt's prefix: on a local server a lost prefix costs a minute of prefill.

Compares the bytes of each request with the one before, and, where the server tells, its cached tokens with the prompt
that it had read before. A break that nobody announced names its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pool.events import Usage

CACHED_SHARE = 0.5
"""A server that has cached less than this share of the earlier prompt has lost it."""

LEAST_PROMPT_TOKENS = 1024
"""Below this a lost prefix is not worth a word."""


@dataclass(frozen=True, slots=True)
class PrefixReport:
    """kept counts the messages of the earlier request that lead this one. broken is "" or says where and why."""

    kept: int
    broken: str = ""


class PrefixWatch:
    """Follows the requests of one conversation."""

    def __init__(self) -> None:
        self._before: Sequence[bytes] = ()
        self._prompt = 0
        self._cache_told = False
        self.requests = 0
        self.breaks = 0

    def request(self, messages: Sequence[bytes], announced: str = "") -> PrefixReport:
        """A request is about to be sent. announced says why its prefix differs on purpose, "" if it should not.

        The last message of the earlier request may have been replaced or left out: a user message that was joined, a
        question that was asked beside the history.
        """
        before, self._before = self._before, messages
        self.requests += 1
        kept = 0
        for old, new in zip(before, messages, strict=False):
            if old is not new and old != new:
                break
            kept += 1
        if kept >= len(before) - 1:
            return PrefixReport(kept)
        self.breaks += 1
        return PrefixReport(kept, announced or f"message {kept + 1} of {len(before)} was changed")

    def usage(self, usage: Usage, report: PrefixReport) -> str:
        """What the server's count says about its cache: "" or a line for people."""
        before, self._prompt = self._prompt, usage.prompt
        self._cache_told = self._cache_told or usage.cached > 0
        if not self._cache_told or report.broken or before < LEAST_PROMPT_TOKENS:
            return ""
        if usage.cached >= before * CACHED_SHARE:
            return ""
        return (
            f"the server had only {usage.cached:,} of {before:,} tokens cached although the prompt only grew: "
            "another client may have pushed it out, or the server was restarted"
        )
