"""The reasoning channel while it streams: all of it is shown but call markup, which may yet become a call."""

from __future__ import annotations

import re

from pool.wire.holding import MAX_LOOSE_MARKUPS, Held, HeldMarkup
from pool.wire.reading import ReadingEvent, ReasoningText
from pool.wire.tags import OPENERS

_OPENER_START = re.compile(r"[<\[]")
_OPENER_CHARS = max(len(opener) for opener in OPENERS)


class ReasoningFilter:
    """Passes reasoning on, holding back call markup, which is a call only if it stands at the very end."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._buf = ""
        self._held: HeldMarkup | None = None
        self._loose = 0

    def feed(self, text: str, *, final: bool = False) -> list[ReadingEvent]:
        """The reasoning that can be shown now; `parts` takes all of it."""
        if text:
            self.parts.append(text)
        if not self._buf and not final and _OPENER_START.search(text) is None:
            return [ReasoningText(text)] if text else []
        self._buf += text
        end = len(self._buf) if final else self._showable()
        shown, self._buf = self._buf[:end], self._buf[end:]
        return [ReasoningText(shown)] if shown else []

    def _showable(self) -> int:
        """Up to where the text can be shown: the start of what is or may become call markup."""
        at = 0
        while found := _OPENER_START.search(self._buf, at):
            if self._may_be_call(found.start()):
                return found.start()
            self._held, at = None, found.end()
        return len(self._buf)

    def _may_be_call(self, at: int) -> bool:
        if self._held is None:
            if self._loose >= MAX_LOOSE_MARKUPS:
                return False
            start = self._buf[at : at + _OPENER_CHARS]
            if not start.startswith(OPENERS):
                return any(opener.startswith(start) for opener in OPENERS)
            self._held = HeldMarkup()
        state = self._held.look(self._buf, at)
        self._loose += state is Held.OVER
        return state is Held.OPEN

    def drop_held(self) -> None:
        """Forget held markup (it became a call): it is never shown."""
        self._buf = ""
