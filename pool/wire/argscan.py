"""Watches the text of a call's arguments while it streams: is the object whole yet, and which file is it about?"""

from __future__ import annotations

import json
import re

from pool.messages import valid_text

PATH_KEYS = frozenset({"path", "file_path", "filename"})
"""Argument names whose value is shown while the rest of the call is still being written."""

MAX_CAPTURE_CHARS = 4096
"""Longest key or path that is looked at (Linux' PATH_MAX); longer ones are not shown."""

_STRING_STOP = re.compile(r'[\\"]')
_STRUCTURE = re.compile(r'["{}\[\],:]')


class ArgumentScan:
    """Follows JSON text piece by piece, each character once; it never fails, whatever the text is.

    whole: so far the text is one complete object. path: value of the first path-like argument, "" while unknown.
    """

    __slots__ = (
        "_captured",
        "_capturing",
        "_depth",
        "_escaped",
        "_in_string",
        "_key",
        "_room",
        "_wants_key",
        "path",
        "whole",
    )

    def __init__(self) -> None:
        self.whole = False
        self.path = ""
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._wants_key = False
        self._key = ""
        self._capturing = False
        self._captured: list[str] = []
        self._room = 0

    def feed(self, text: str) -> None:
        """Take the next piece."""
        position = 0
        while position < len(text):
            position = self._string(text, position) if self._in_string else self._outside(text, position)

    def _string(self, text: str, position: int) -> int:
        if self._escaped:
            self._escaped = False
            self._keep(text[position])
            return position + 1
        stop = _STRING_STOP.search(text, position)
        if stop is None:
            self._keep(text[position:])
            return len(text)
        self._keep(text[position : stop.start()])
        if stop[0] == "\\":
            self._escaped = True
            self._keep("\\")
        else:
            self._in_string = False
            self._end_string()
        return stop.end()

    def _outside(self, text: str, position: int) -> int:
        mark = _STRUCTURE.search(text, position)
        until = len(text) if mark is None else mark.start()
        if self.whole and text[position:until].strip():
            self.whole = False
        if mark is None:
            return until
        if self.whole and mark[0] != "}":
            self.whole = False
        match mark[0]:
            case '"':
                self._in_string, self._room = True, MAX_CAPTURE_CHARS
                self._capturing = self._depth == 1 and (self._wants_key or (not self.path and self._key in PATH_KEYS))
            case "{" | "[":
                self._depth += 1
                self._wants_key = self._depth == 1 and mark[0] == "{"
            case "}" | "]":
                self._close(mark[0])
            case ",":
                self._wants_key = self._depth == 1
            case _:
                self._wants_key = False
        return mark.end()

    def _close(self, mark: str) -> None:
        if self._depth == 0:
            return
        self._depth -= 1
        self.whole = self._depth == 0 and mark == "}"

    def _keep(self, text: str) -> None:
        if not self._capturing:
            return
        self._captured.append(text)
        self._room -= len(text)
        if self._room < 0:
            self._capturing = False
            self._captured.clear()

    def _end_string(self) -> None:
        if not self._capturing:
            self._key = "" if self._depth == 1 and self._wants_key else self._key
            return
        self._capturing = False
        text = _decoded("".join(self._captured))
        self._captured.clear()
        if self._wants_key:
            self._key = text
        else:
            self.path = text


def _decoded(raw: str) -> str:
    try:
        return valid_text(str(json.loads(f'"{raw}"', strict=False)))
    except ValueError:
        return ""
