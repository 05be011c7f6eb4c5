"""Call markup that is held back while it streams: is it a call at all, and has the text gone on after it?

Both answers depend on the text alone, never on how it was cut, and each character is looked at once.
"""

from __future__ import annotations

import re
from enum import Enum

from pool.wire.markup import OPENERS, looks_like_call_start

MAX_LOOSE_MARKUPS = 16
"""How often in one channel of a reply held markup may turn out to be prose; from then on openers are only text."""

_CLOSERS = ("</tool_call>", "</function>", "[END_TOOL_REQUEST]")
_MAY_FOLLOW = (*OPENERS, *_CLOSERS, "</user>")
_VALUE, _VALUE_END = "<arg_value>", "</arg_value>"
_TOKENS = (_VALUE, _VALUE_END, *_CLOSERS)
_TOKEN = re.compile("|".join(re.escape(token) for token in _TOKENS))
_OVERLAP = max(len(token) for token in _TOKENS) - 1
_FOLLOW_CHARS = max(len(text) for text in _MAY_FOLLOW)
_BLANKS = re.compile(r"\s*")


class Held(Enum):
    """What is known of held text. PROSE: it was never a call. OVER: a call ended and the text went on. Both final."""

    OPEN = "open"
    PROSE = "prose"
    OVER = "over"


class HeldMarkup:
    """Watches the text from a call opener on."""

    def __init__(self) -> None:
        self._is_call = False
        self._at = 0
        self._in_value = False
        self._tail = -1

    def look(self, text: str, start: int) -> Held:
        """What is known now. The opener stands at start; text has grown at its end only since the last look."""
        if not self._is_call:
            looks = looks_like_call_start(text, start)
            if looks is False:
                return Held.PROSE
            self._is_call = looks is True
        for token in _TOKEN.finditer(text, start + self._at):
            self._at = token.end() - start
            if token[0] in (_VALUE, _VALUE_END):
                self._in_value = token[0] == _VALUE
            elif not self._in_value:
                if self._went_on(text, start):
                    return Held.OVER
                self._tail = self._at
        self._at = max(self._at, len(text) - start - _OVERLAP)
        return Held.OVER if self._went_on(text, start) else Held.OPEN

    def _went_on(self, text: str, start: int) -> bool:
        """Whether prose follows the last closing tag."""
        if self._tail < 0:
            return False
        blanks = _BLANKS.match(text, start + self._tail)
        at = blanks.end() if blanks else start + self._tail
        self._tail = at - start
        rest = text[at : at + _FOLLOW_CHARS]
        if not rest or any(t.startswith(rest) for t in _MAY_FOLLOW if len(t) > len(rest)):
            return False
        self._tail = -1
        return not rest.startswith(_MAY_FOLLOW)
