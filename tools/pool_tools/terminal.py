"""From a command's raw output to plain text: escapes out, progress bars folded, stray bytes made visible.

`EscapeStripper` follows the state machine of ECMA-48 (as in the DEC parser drawn by Paul Williams), for 7-bit escapes
and for the 8-bit C1 controls as Unicode code points. `LineFolder` keeps of each line what its last frame says.
"""

from __future__ import annotations

import codecs
import re
from enum import Enum, auto

from pool_tools.binary import beginning, blocks
from pool_tools.text import size, visible

_SPECIAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udc80-\udcff]")
_IGNORED = re.compile(r"[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x8f\x91-\x97\x99\x9a\x9c]")
_ODD = re.compile(r"[\u202a-\u202e\u2066-\u2069\udc80-\udcff]")
_SHOWN = {chr(c): visible(chr(c)) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xDC80, 0xDD00))}
_FEEDS = re.compile(r"[\x0b\x0c\x85]")
_STARTS = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")
_PARAMETERS = re.compile(r"[\x20-\x3f]{0,256}")
_NOT_STRING = re.compile(r"[\x07\x18\x1a\x1b\x9c]")
_NOT_OSC = re.compile(r"[\x07\n\x18\x1a\x1b\x9c]")

# What is written and taken back at once. After a carriage return the first character empties the line, so it counts.
_TAKEN_BACK = re.compile(r"(?<=[^\r\x08])(?:[^\n\r\x08]\x08)+")
_REDRAWN = re.compile(r"^[^\n]*\r(?=[^\n\r])", re.MULTILINE)
_RUNS = re.compile(r"\r+|\x08+|[^\r\x08]+")

# Sequences that move nothing, each with one escape: a string that ends in one leaves it to be matched next, and the
# text that is searched ends where an escape follows.
_WHOLE = re.compile(
    r"\x1b(?:"
    r"\[[\x30-\x3f]{0,64}[\x20-\x2f]{0,4}[@-FH-JL-~]"
    r"|[\x20-\x2f]{1,4}[\x30-\x7e]"
    r"|[\x30-\x4f\x51-\x57\x59\x5a\\\x60-\x7e]"
    r"|\][^\x07\n\x18\x1a\x1b\x9c]{0,8192}(?:[\x07\x18\x1a\x9c]|(?=[\n\x1b])|\Z)"
    r"|[PX^_][^\x07\x18\x1a\x1b\x9c]{0,8192}(?:[\x07\x18\x1a\x9c]|(?=\x1b)|\Z))"
)
_LINE_CSI = re.compile(r"\x1b\[[\x30-\x3f]{0,64}[\x20-\x2f]{0,4}[GK]")
_ESCAPES = re.compile(r"\x1b{2,}")

# Erasing where nothing is, or what a carriage return replaces anyway.
_IDLE_ERASE = re.compile(r"(?<=[ -FH-JL-~])\x1b\[[01]?K|(?<=\r)\x1b\[[0-2]?K(?=[ -~])|\x1b\[2K(?=\r[ -~])")
_C1_STARTS = re.compile(r"[\x90\x98\x9b\x9d-\x9f]")

_BACKSPACE_PASSES = 4
"""So many characters taken back in a row are found by searching; what is left is walked through."""

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

    def write(self, text: str) -> None:
        """Add text with single controls in it, but no escapes."""
        if not _SPECIAL.search(text):
            self.text(text)
            return
        text, ignored = _IGNORED.subn("", text)
        text, odd = _ODD.subn(lambda found: _SHOWN[found[0]], text)
        self.controls += ignored + odd + text.count("\0")
        text = _FEEDS.sub("\n", text.replace("\0", "\\0"))
        for _ in range(_BACKSPACE_PASSES if "\b" in text else 0):
            text = _TAKEN_BACK.sub("", text)
        if "\b" in text:
            self._walk(text)
        elif "\r" in text:
            self._redraw(text)
        else:
            self.text(text)

    def _walk(self, text: str) -> None:
        for run in _RUNS.findall(text):
            match run[0]:
                case "\r":
                    self.carriage_return()
                case "\b":
                    self.line = self.line[: -len(run)]
                case _:
                    self.text(run)

    def _redraw(self, text: str) -> None:
        """Add text in which carriage returns are the only controls."""
        first, feed, rest = text.partition("\n")
        shown = first.rstrip("\r")
        _, again, shown = shown.rpartition("\r")
        if again:
            self.carriage_return()
        self.text(shown)
        rest = _REDRAWN.sub("", rest)
        self._returned = self._returned or first.endswith("\r")
        self.text(feed + rest.replace("\r", ""))
        self._returned = self._returned or rest.endswith("\r")

    def carriage_return(self) -> None:
        self._returned = True

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
    """Feeds a `LineFolder` with what a terminal would have shown. Call `feed` with bytes, `close` at the end.

    Of a stretch that is binary only the first bytes and the number of bytes are shown.
    """

    def __init__(self, folder: LineFolder) -> None:
        self._folder = folder
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._state = _State.GROUND
        self._sequence = ""
        self._length = 0
        self._binary_bytes = 0

    def feed(self, data: bytes) -> None:
        for block, stray in blocks(data, self._binary_bytes > 0):
            if stray is None:
                self._end_binary()
                self._text(self._decoder.decode(block))
            else:
                self._binary(block, stray)

    def close(self) -> None:
        self._end_binary()
        self._text(self._decoder.decode(b"", final=True))

    def _binary(self, block: bytes, stray: int) -> None:
        if not self._binary_bytes:
            self._text(self._decoder.decode(b"", final=True))
            self._state = _State.GROUND
            self._folder.text(f"[binary data, beginning with {beginning(block)}")
        self._binary_bytes += len(block)
        self._folder.controls += stray

    def _end_binary(self) -> None:
        if self._binary_bytes:
            self._folder.text(f", {size(self._binary_bytes)}, not shown]")
            self._binary_bytes = 0

    def _text(self, text: str) -> None:
        if "\x1b\x1b" in text:
            text = _ESCAPES.sub("\x1b", text)
        at, simple = 0, False
        while at < len(text):
            match self._state:
                case _State.GROUND if not simple:
                    text, at, simple = _without_sequences(text[at:].replace("\r\n", "\n")), 0, True
                case _State.GROUND:
                    at = self._ground(text, at)
                case _State.ESCAPE | _State.INTERMEDIATE:
                    at = self._escape(text, at)
                case _State.CSI:
                    at = self._control_sequence(text, at)
                case _State.OSC | _State.STRING:
                    at = self._control_string(text, at)

    def _ground(self, text: str, at: int) -> int:
        special = _SPECIAL.search(text, at)
        found = _STARTS.search(text, special.start()) if special else None
        if found is None:
            add = self._folder.write if special else self._folder.text
            add(text[at:])
            return len(text)
        self._folder.write(text[at : found.start()])
        match found[0]:
            case "\x1b":
                self._state = _State.ESCAPE
            case "\x9b":
                self._enter(_State.CSI)
            case "\x9d":
                self._enter(_State.OSC)
            case _:
                self._enter(_State.STRING)
        return found.end()

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
        parameters = _PARAMETERS.match(text, at)
        assert parameters is not None
        taken = parameters[0][: MAX_SEQUENCE_CHARS - len(self._sequence)]
        self._sequence += taken
        at += len(taken)
        if at == len(text):
            return at
        char = text[at]
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


def _without_sequences(text: str) -> str:
    """text without the escape sequences that move nothing.

    Colours are most of what output holds; taking them out at once is ten times as fast as walking through them. It
    is done only where every escape of the text begins a whole sequence, so the state machine would agree. The last
    escape may be incomplete and stays.
    """
    last = text.rfind("\x1b")
    if last < 0:
        return text
    before = text[:last]
    stripped, count = _WHOLE.subn("", before)
    if count + len(_LINE_CSI.findall(before)) != before.count("\x1b") or _C1_STARTS.search(before):
        return text
    return _IDLE_ERASE.sub("", stripped) + text[last:]
