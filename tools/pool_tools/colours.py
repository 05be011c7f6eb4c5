"""Output for people: colours and nothing else of what a terminal would do.

Of all control sequences only SGR (ECMA-48 8.3.117: colours, bold, underline) is kept, without what hides text. Cursor
moves, titles, clipboards, links, character sets and single controls are left out; what reverses the order of letters,
and bytes that are no text, are shown as escapes.
"""

from __future__ import annotations

import codecs
import re

from pool_tools.text import visible

MAX_PARTS = 32
"""Most parameters that one sequence may have; real ones have up to 15."""

MAX_HELD_CHARS = 8_192
"""Of a sequence that is not at its end so much is held back; a longer one is broken off."""

_CSI = r"(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]"
_STRING = (
    r"(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x07\n\x18\x1a\x1b\x9c]*(?:\x07|\x9c|\x18|\x1a|\x1b\\|(?=[\n\x1b])|\Z)"
)
_SHORT = r"\x1b[\x20-\x2f]*[\x30-\x7e]"
_CONTROL = r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]"
_ODD = r"[\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_ANY = re.compile(f"(?P<line>\\r+\\n)|(?P<csi>{_CSI})|(?P<other>{_STRING}|{_SHORT}|{_CONTROL})|(?P<odd>{_ODD})")

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_UNFINISHED = re.compile(
    r"(?:\x1b|(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*|\x1b[\x20-\x2f]+"
    r"|(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x07\n\x18\x1a\x1b\x9c]*\x1b?|\r+)\Z"
)

_FRAMES = re.compile(r"^[^\n]*\r(?=[^\r\n])", re.MULTILINE)
_RESETS = ("\x1b[m", "\x1b[0m")

_CONCEAL = "8"
_COLOUR_FOLLOWS = {"38", "48", "58"}
_PARTS_OF_COLOUR = {"5": 1, "2": 3}
"""How many parameters follow the kind of an extended colour: an index, or red, green and blue."""


def people_text(text: str) -> str:
    """text with SGR sequences, line feeds, tabs and carriage returns, and no other control character.

    A sequence that is not at its end is left out.
    """
    return _ANY.sub(_kept, text)


def plain_text(text: str) -> str:
    """What `people_text` gives, without colours."""
    return _SGR.sub("", text)


def last_frames(text: str) -> str:
    """Of each line of people's text what its last carriage return left, with the colours that were set before.

    A carriage return at the start says that the first line begins anew.
    """
    first, feed, rest = text.partition("\n")
    anew = "\r" if "\r" in first.rstrip("\r") else ""
    return anew + _FRAMES.sub(_last_frame, first) + feed + _FRAMES.sub(_last_frame, rest)


def _last_frame(found: re.Match[str]) -> str:
    colours = [sgr[0] for sgr in _SGR.finditer(found[0])]
    since = max((at for at, sgr in enumerate(colours) if sgr in _RESETS), default=-1)
    return "".join(colours[since + 1 :])


class PeopleText:
    """`people_text` for output that comes in pieces of bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._held = ""

    def feed(self, data: bytes) -> str:
        """What can be shown so far, since the last call."""
        text = self._held + self._decoder.decode(data)
        cut = _UNFINISHED.search(text, max(0, len(text) - MAX_HELD_CHARS))
        self._held = cut[0] if cut else ""
        return people_text(text[: cut.start()] if cut else text)


def _kept(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "line":
            return "\n"
        case "odd":
            return visible(found[0])
        case "csi":
            sgr = _SGR.fullmatch(found[0].replace("\x9b", "\x1b["))
            return f"\x1b[{sgr[1]}m" if sgr and _shows(sgr[1]) else ""
        case _:
            return ""


def _shows(parameters: str) -> bool:
    """Whether an SGR sequence leaves text to be seen, as `conceal` does not."""
    parts = parameters.split(";")
    if len(parts) > MAX_PARTS:
        return False
    at = 0
    while at < len(parts):
        if parts[at].lstrip("0") == _CONCEAL:
            return False
        if parts[at] in _COLOUR_FOLLOWS and at + 1 < len(parts):
            at += 1 + _PARTS_OF_COLOUR.get(parts[at + 1], 0)
        at += 1
    return True
