"""What kind of terminal this is: its background (asked by OSC 11) and how many colours it shows.

The question is sent before the interface's libraries are imported and its answer read afterwards, so that waiting for
a slow link costs little. What was typed meanwhile is kept.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import termios
import time
from collections.abc import Mapping

from pool_tools.frozen import frozen

ANSWER_SECONDS = 0.25
"""How long after the question an answer is waited for. Terminals answer in milliseconds, over SSH in a round trip."""

MOST_BYTES = 1024 * 1024
"""No more is read while the answer is waited for."""

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
"""Which background, and then what terminal: every terminal answers the second, so its answer ends the waiting."""

_COLOUR_ANSWER = re.compile(
    rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?(?:\x07|\x1b\\)"
)
_KIND_ANSWER = re.compile(rb"\x1b\[\?[0-9;]*c")
_ANY_ANSWER = re.compile(rb"\x1b\]11;[^\x07\x1b]*(?:\x07|\x1b\\)|" + _KIND_ANSWER.pattern)

DARK_INDEXES = frozenset({0, 1, 2, 3, 4, 5, 6, 8})
"""Of the sixteen colours those that are dark as a background, as rxvt numbers them in COLORFGBG."""

FEW_COLOUR_TERMINALS = frozenset(
    "linux xterm xterm-color screen vt100 vt102 vt220 vt320 vt340 ansi cygwin rxvt putty konsole con80x25".split()
)
"""Values of TERM that stand for eight or sixteen colours; newer terminals have other names, or say `256color`."""


@frozen
class Answer:
    """What was read: whether the background is dark (None: not told yet), and what the user typed meanwhile."""

    dark: bool | None = None
    typed: bytes = b""


class Question:
    """A question to the terminal on stdin and stdout. Between `ask` and `answer` nothing that is typed is echoed."""

    def __init__(self) -> None:
        self._in = sys.stdin.fileno()
        self._before: list[object] | None = None
        self._until = 0.0

    def ask(self) -> None:
        """Send it. A terminal that cannot be asked is not."""
        try:
            attributes = termios.tcgetattr(self._in)
            self._before = list(attributes)
            attributes[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(self._in, termios.TCSANOW, attributes)
            os.write(sys.stdout.fileno(), QUESTION)
        except (termios.error, OSError):
            self.withdraw()
        self._until = time.monotonic() + ANSWER_SECONDS

    def answer(self) -> Answer:
        """Wait for the answer, and give the terminal back as it was."""
        if self._before is None:
            return Answer()
        data = b""
        try:
            while not _KIND_ANSWER.search(data) and len(data) < MOST_BYTES:
                left = max(0.0, self._until - time.monotonic())
                if not select.select([self._in], [], [], left)[0] or not (more := os.read(self._in, 4096)):
                    break
                data += more
        except OSError:
            pass
        finally:
            self.withdraw()
        return read_answer(data)

    def withdraw(self) -> None:
        """Give the terminal back as it was, whatever it answers."""
        before, self._before = self._before, None
        if before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._in, termios.TCSANOW, before)  # pyright: ignore[reportArgumentType] as it was read


def read_answer(data: bytes) -> Answer:
    """Take what a terminal sent apart."""
    found = _COLOUR_ANSWER.search(data)
    dark = None
    if found:
        red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
    return Answer(dark, _ANY_ANSWER.sub(b"", data))


def told_dark(environ: Mapping[str, str]) -> bool | None:
    """Whether COLORFGBG says that the background is dark; None if it says nothing."""
    last = environ.get("COLORFGBG", "").rpartition(";")[2]
    return int(last) in DARK_INDEXES if last.isdecimal() and int(last) < 16 else None


def shows_many_colours(environ: Mapping[str, str]) -> bool:
    """Whether the terminal shows more than sixteen colours."""
    term = environ.get("TERM", "")
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit", "yes") or environ.get("WT_SESSION"):
        return True
    # How Textual is told, also by textual-serve for a browser.
    if environ.get("TEXTUAL_COLOR_SYSTEM") in ("truecolor", "256"):
        return True
    if "256color" in term or "truecolor" in term or "direct" in term:
        return True
    return term.partition(".")[0] not in FEW_COLOUR_TERMINALS and not term.endswith(("-16color", "-8color", "-m"))


def theme_for(dark: bool | None, environ: Mapping[str, str]) -> str:
    """The theme that fits a terminal. dark is what it answered."""
    if dark is None:
        dark = told_dark(environ)
    kind = "pool" if shows_many_colours(environ) else "sixteen"
    return f"{kind}-{'light' if dark is False else 'dark'}"
