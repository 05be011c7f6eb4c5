"""Lines of a file as the model sees them: `12|text`, with what is no text made visible."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pool_tools.limits import LINE_CHARS
from pool_tools.text import visible

_END = re.compile(r"\r?\n\Z|\r\Z")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def without_end(line: str) -> str:
    """line without its line end."""
    return _END.sub("", line)


def shown_line(line: str) -> str:
    """line without its end; control characters but the tab, bidi controls and stray bytes as escapes."""
    return _CONTROLS.sub(lambda m: visible(m[0]), without_end(line))


def numbered(lines: Sequence[str], first: int) -> str:
    """lines with their numbers from first, long ones cut."""
    return "\n".join(f"{first + i}|{cut_line(shown_line(line))}" for i, line in enumerate(lines))


def cut_line(line: str) -> str:
    """line at most `LINE_CHARS` long, saying how much is left out."""
    return (
        line
        if len(line) <= LINE_CHARS
        else f"{line[:LINE_CHARS]}… [+{len(line) - LINE_CHARS:,} characters of this line]"
    )
