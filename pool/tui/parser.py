"""Textual's reader of terminal input, told to drop answers to Pool's question that come late.

Over a slow link an answer may come after the interface has begun; unknown to Textual, it would be typed into the
prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.message import Message

_ANSWER = re.compile(r"\x1b\]11;[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[\?[0-9;]*c")
_BEGUN = re.compile(r"\x1b(?:\]11?(?:;[^\x07\x1b]*\x1b?)?|\[\?[0-9;]*)\Z")

MOST_HELD = 64
"""A longer beginning of an answer is none."""


class Parser(XTermParser):
    """Drops the answers, also those that come in pieces."""

    def __init__(self, debug: bool = False) -> None:
        self._held = ""
        super().__init__(debug)

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            return super().feed(data)
        whole = _ANSWER.sub("", self._held + data)
        begun = _BEGUN.search(whole)
        self._held = begun.group() if begun and len(begun.group()) <= MOST_HELD else ""
        whole = whole[: len(whole) - len(self._held)]
        return super().feed(whole) if whole else ()


def drop_late_answers() -> None:
    """From now on apps drop answers to the question for the background."""
    setattr(linux_driver, "XTermParser", Parser)  # noqa: B010  # the driver has no other way to be given one
