"""From a command's raw output to plain text: escapes out, progress bars folded, stray bytes made visible.

`EscapeStripper` follows the state machine of ECMA-48 (as in the DEC parser drawn by Paul Williams), for 7-bit escapes
and for the 8-bit C1 controls as Unicode code points. `LineFolder` keeps of each line what its last frame says.
"""

from __future__ import annotations

import codecs
import re
from enum import Enum, auto

from pool_tools.text import visible

_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_STRING = re.compile(r"[\x07\x18\x1a\x1b\x9c]")
_NOT_OSC = re.compile(r"[\x07\n\x18\x1a\x1b\x9c]")

_PLAIN_CSI = re.compile(r"\x1b\[[\x30-\x3f]{0,64}[\x20-\x2f]{0,4}[@-FH-JL-~]")
_LINE_CSI = re.compile(r"\x1b\[[\x30-\x3f]{0,64}[\x20-\x2f]{0,4}[GK]")
_C1_STARTS = re.compile(r"[\x90\x98\x9b\x9d-\x9f]")

MAX_SEQUENCE_CHARS = 256
"""Longest control sequence that is swallowed; a longer one is broken off and the rest is text."""

MAX_STRING_CHARS = 1_000_000
"""Longest control string (title, clipboard, image) that is swallowed."""

MAX_LINE_CHARS = 8_192
"""Characters of an unfinished line that a carriage return can still take back."""


class _State(Enum):
    GROUND = auto()
    ESCAPE = auto()
    INTERMEDIATE = auto()
    CSI = auto()
    OSC = auto()
    STRING = auto()


class LineFolder:
    """Text in which a carriage return starts its line anew and a backspace takes one character back.

    `finished` collects whole lines, `line` is the unfinished one. `controls` counts characters that were not text.
    """

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.line = ""
        self.controls = 0
        self._returned = False

    def text(self, text: str) -> None:
        """Add text; line feeds in it end lines."""
        if not text:
            return
        if self._returned and text[0] != "\n":
            self.line = ""
        self._returned = False
        cut = text.rfind("\n") + 1
        if cut:
            self.finished.append(self.line + text[:cut])
            self.line = text[cut:]
        else:
            self.line += text
        if len(self.line) > MAX_LINE_CHARS:
            self.finished.append(self.line)
            self.line = ""

    def carriage_return(self) -> None:
        self._returned = True

    def backspace(self) -> None:
        self.line = self.line[:-1]

    def erase_line(self, mode: str) -> None:
        """EL: mode 2 clears the line, mode 0 clears it when the cursor is at its start (elsewhere nothing is there)."""
        if mode == "2" or (self._returned and mode in ("", "0")):
            self.line = ""

    def take(self) -> str:
        """The finished text since the last call."""
        out = "".join(self.finished)
        self.finished.clear()
        return out


class EscapeStripper:
    """Feeds a `LineFolder` with what a terminal would have shown. Call `feed` with bytes, `close` at the end."""

    def __init__(self, folder: LineFolder) -> None:
        self._folder = folder
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._state = _State.GROUND
        self._sequence = ""
        self._length = 0

    def feed(self, data: bytes) -> None:
        self._text(self._decoder.decode(data))

    def close(self) -> None:
        self._text(self._decoder.decode(b"", final=True))

    def _text(self, text: str) -> None:
        if self._state is _State.GROUND:
            text = _without_colours(text.replace("\r\n", "\n"))
        at = 0
        while at < len(text):
            match self._state:
                case _State.GROUND:
                    at = self._ground(text, at)
                case _State.ESCAPE | _State.INTERMEDIATE:
                    at = self._escape(text, at)
                case _State.CSI:
                    at = self._control_sequence(text, at)
                case _State.OSC | _State.STRING:
                    at = self._control_string(text, at)

    def _ground(self, text: str, at: int) -> int:
        found = _SPECIAL.search(text, at)
        if found is None:
            self._folder.text(text[at:])
            return len(text)
        self._folder.text(text[at : found.start()])
        self._control(found[0])
        return found.end()

    def _control(self, char: str) -> None:
        match char:
            case "\r":
                self._folder.carriage_return()
            case "\b":
                self._folder.backspace()
            case "\x0b" | "\x0c" | "\x85":
                self._folder.text("\n")
            case "\x1b":
                self._state = _State.ESCAPE
            case "\x9b":
                self._enter(_State.CSI)
            case "\x9d":
                self._enter(_State.OSC)
            case "\x90" | "\x98" | "\x9e" | "\x9f":
                self._enter(_State.STRING)
            case "\x00":
                self._folder.controls += 1
                self._folder.text("\\0")
            case _ if char < "\xa0":
                self._folder.controls += 1
            case _:
                self._folder.controls += 1
                self._folder.text(visible(char))

    def _enter(self, state: _State) -> None:
        self._state = state
        self._sequence = ""
        self._length = 0

    def _escape(self, text: str, at: int) -> int:
        char = text[at]
        first = self._state is _State.ESCAPE
        if "\x20" <= char <= "\x2f":
            self._state = _State.INTERMEDIATE
        elif first and char == "[":
            self._enter(_State.CSI)
        elif first and char == "]":
            self._enter(_State.OSC)
        elif first and char in "PX^_":
            self._enter(_State.STRING)
        else:
            self._state = _State.GROUND
            if not "\x30" <= char <= "\x7e":
                return at
        return at + 1

    def _control_sequence(self, text: str, at: int) -> int:
        char = text[at]
        if "\x20" <= char <= "\x3f" and len(self._sequence) < MAX_SEQUENCE_CHARS:
            self._sequence += char
            return at + 1
        self._state = _State.GROUND
        if not "\x40" <= char <= "\x7e":
            return at
        if char == "K":
            self._folder.erase_line(self._sequence)
        elif char == "G" and self._sequence in ("", "0", "1"):
            self._folder.carriage_return()
        return at + 1

    def _control_string(self, text: str, at: int) -> int:
        end = (_NOT_OSC if self._state is _State.OSC else _NOT_STRING).search(text, at)
        stop = end.start() if end else len(text)
        self._length += stop - at
        if self._length > MAX_STRING_CHARS:
            self._state = _State.GROUND
        if end is None:
            return stop
        self._state = _State.ESCAPE if end[0] == "\x1b" else _State.GROUND
        return stop if end[0] == "\n" else end.end()


def _without_colours(text: str) -> str:
    """text without the control sequences that move nothing.

    Colours are most of what output holds; taking them out at once is ten times as fast as walking through them. It
    is done only where every escape of the text is a whole control sequence, so the state machine would agree. The
    last escape may be incomplete and stays.
    """
    last = text.rfind("\x1b")
    if last < 0:
        return text
    head = text[:last]
    stripped, count = _PLAIN_CSI.subn("", head)
    if count + len(_LINE_CSI.findall(stripped)) != head.count("\x1b") or _C1_STARTS.search(head):
        return text
    return stripped + text[last:]
