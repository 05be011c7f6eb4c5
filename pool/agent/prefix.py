"""Watching the prompt's prefix: on a local server a lost prefix costs a minute of prefill.

Compares the bytes of each request with the one before, and, where the server tells, its cached tokens with the prompt
that it had read before. A break that nobody announced names its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from pool.events import Usage
from pool_tools.frozen import frozen

CACHED_SHARE = 0.5
"""A server that has cached less than this share of the earlier prompt has lost it."""

LEAST_PROMPT_TOKENS = 1024
"""Below this a lost prefix is not worth a word."""


@frozen
class PrefixReport:
    """kept counts the messages of the earlier request that lead this one. broken is "" or says where and why."""

    kept: int
    broken: str = ""


class PrefixWatch:
    """Follows the requests of one conversation. breaks counts all, unannounced those that nobody announced."""

    def __init__(self) -> None:
        self._before: Sequence[bytes] = ()
        self._head = ""
        self._announced = ""
        self._prompt = 0
        self._cache_told = False
        self.requests = 0
        self.breaks = 0
        self.unannounced = 0
        self.last_break = ""
        """Where and why the prefix broke last, "" if it never did."""

    @property
    def cache_told(self) -> bool:
        """Whether the server has ever said that it had something cached."""
        return self._cache_told

    def announce(self, why: str) -> None:
        """The history is about to be changed on purpose; why is given as the cause of the next break."""
        self._announced = why

    def request(self, messages: Sequence[bytes], head: str, announced: str = "") -> PrefixReport:
        """A request is about to be sent. announced says why its prefix differs on purpose, "" if it should not.

        head is all of it but the messages. The last message of the earlier request may have been replaced or left out:
        a user message that was joined, a question that was asked beside the history.
        """
        before, self._before = self._before, messages
        old_head, self._head = self._head, head
        self.requests += 1
        kept = 0
        for old, new in zip(before, messages, strict=False):
            if old is not new and old != new:
                break
            kept += 1
        why = announced or self._announced
        if old_head not in ("", head):
            return self._broken(0, why or "the request's head was changed", announced=bool(why))
        if kept >= len(before) - 1:
            return PrefixReport(kept)
        return self._broken(kept, why or f"message {kept + 1} of {len(before)} was changed", announced=bool(why))

    def _broken(self, kept: int, why: str, *, announced: bool) -> PrefixReport:
        self._announced = ""
        self.breaks += 1
        self.unannounced += not announced
        self.last_break = f"request {self.requests}: {why}"
        return PrefixReport(kept, why)

    def likely_cached(self, report: PrefixReport) -> int:
        """Tokens that the server has probably cached of a request: the prompt before, on one that caches; 0 unknown."""
        return self._prompt if self._cache_told and not report.broken else 0

    def usage(self, usage: Usage, report: PrefixReport, *, whole: bool = True) -> str:
        """What the server's count says about its cache: "" or a line for people.

        whole: the reply came to its end. The running count of one that was cut short (vLLM's
        `continuous_usage_stats`) has no word on the cache, and 0 there means nothing.
        """
        before, self._prompt = self._prompt, usage.prompt
        self._cache_told = self._cache_told or usage.cached > 0
        if not whole or not self._cache_told or report.broken or before < LEAST_PROMPT_TOKENS:
            return ""
        if usage.cached >= before * CACHED_SHARE:
            return ""
        return (
            f"the server had only {usage.cached:,} of {before:,} tokens cached although the prompt only grew: "
            "another client may have pushed it out, or the server was restarted"
        )
