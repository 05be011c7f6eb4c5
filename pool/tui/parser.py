"""Textual's reader of terminal input, told what it does not know: late answers to Pool's question, and Alt+Enter.

Over a slow link an answer may come after the interface has begun; it would be typed into the prompt. Alt+Enter is ESC
and CR wherever keys are not extended (tmux, most terminals by default), which Textual takes for Esc, then Enter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.message import Message

_ANSWER = re.compile(r"\x1b\]11;[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[\?[0-9;]*c")
_BEGUN = re.compile(r"\x1b(?:\]11?(?:;[^\x07\x1b]*\x1b?)?|\[\?[0-9;]*)\Z")

_ALT_ENTER = ("\x1b\r", "\x1b[13;3u")
"""As it comes, and in the form that Textual knows."""

_PASTE_BEGINS = "\x1b[200~"

MOST_HELD = 64
"""A longer beginning of an answer is none."""


class Parser(XTermParser):
    """Drops the answers, also those that come in pieces."""

    alt_enter = True
    """Whether ESC and CR in one piece are Alt+Enter."""

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
        if self.alt_enter and _PASTE_BEGINS not in whole:
            whole = whole.replace(*_ALT_ENTER)
        return super().feed(whole) if whole else ()


def use_parser(*, vi: bool) -> None:
    """From now on apps read input so. vi: Esc is a key of its own there, and Enter may follow it within one piece."""
    Parser.alt_enter = not vi
    setattr(linux_driver, "XTermParser", Parser)  # noqa: B010  # the driver has no other way to be given one
