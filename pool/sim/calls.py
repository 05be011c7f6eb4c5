"""The streaming parser of call markup, as vLLM 0.25.1's `poolside_v1` behaves (recordings 02 to 33)."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, cast

from pool.sim.tokens import CALL, END_CALL, END_KEY, END_VALUE, KEY, VALUE

Schemas = Mapping[str, Mapping[str, Any]]
"""Tool name to its JSON schema."""


@dataclass(slots=True)
class CallPiece:
    """What one step adds to one call. name is None if the call was begun before."""

    index: int
    name: str | None = None
    arguments: str = ""


@dataclass(slots=True)
class Pieces:
    """What one step adds: plain text, and pieces of calls in order."""

    text: str = ""
    calls: list[CallPiece] = field(default_factory=list[CallPiece])

    def add(self, index: int, arguments: str) -> None:
        """Join text to the last piece if it is of the same call."""
        if self.calls and self.calls[-1].index == index:
            self.calls[-1].arguments += arguments
        else:
            self.calls.append(CallPiece(index, arguments=arguments))


class _At(Enum):
    TEXT = auto()
    NAME = auto()
    ARGS = auto()
    KEY = auto()
    AFTER_KEY = auto()
    STRING = auto()
    BUFFERED = auto()


class CallParser:
    """Feed text, get pieces. Strings come piece by piece, other values whole at their end tag.

    Its weaknesses are vLLM's: an empty name if a newline or an argument follows the opening tag, the first of two
    values of one key, everything after a key without a value swallowed, an unfinished opening tag lost.
    """

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._at = _At.TEXT
        self._pending: str = ""
        self._index = -1
        self._name: str = ""
        self._key: str = ""
        self._seen: set[str] = set()
        self._skip = False
        self._fed_args = False

    @property
    def called(self) -> bool:
        """Whether any call was begun."""
        return self._index >= 0

    def feed(self, text: str) -> Pieces:
        """Take the text of one step."""
        self._pending += text
        out = Pieces()
        while self._step(out):
            pass
        self._fed_args = any(piece.arguments for piece in out.calls)
        return out

    def close(self) -> str:
        """What vLLM appends at the end of generation: if the last step brought arguments, their JSON is closed.

        So a call that a limit cut inside a string looks whole (recording 27); one cut inside another value stays
        open, because its last steps brought nothing (recording 28).
        """
        if not self._fed_args or self._at in (_At.TEXT, _At.NAME):
            return ""
        self._fed_args = False
        return '"}' if self._at is _At.STRING and not self._skip else "}"

    def _step(self, out: Pieces) -> bool:
        """Move on by one tag or piece of text; False if more text is needed first."""
        match self._at:
            case _At.TEXT:
                return self._text(out)
            case _At.NAME:
                return self._read_name(out)
            case _At.ARGS:
                return self._between(out)
            case _At.KEY:
                return self._read_key()
            case _At.AFTER_KEY:
                return self._begin_value(out)
            case _At.STRING:
                return self._string(out)
            case _At.BUFFERED:
                return self._value(out)

    def _take_until(self, tag: str) -> tuple[str, bool]:
        """Text before tag and whether the tag came; what may be the start of the tag is held back."""
        before, found, after = self._pending.partition(tag)
        if found:
            self._pending = after
            return before, True
        held = next((n for n in range(min(len(tag) - 1, len(before)), 0, -1) if before.endswith(tag[:n])), 0)
        self._pending = before[len(before) - held :] if held else ""
        return before[: len(before) - held], False

    def _text(self, out: Pieces) -> bool:
        text, found = self._take_until(CALL)
        out.text += text
        if found:
            self._at = _At.NAME
        return found

    def _read_name(self, out: Pieces) -> bool:
        ends = [(at, end) for end in ("\n", KEY, END_CALL) if (at := self._pending.find(end)) >= 0]
        if not ends:
            return False
        at, end = min(ends)
        name = self._pending[:at].strip()
        if end == END_CALL and not name:
            self._pending = self._pending[len(END_CALL) + at :]
            self._at = _At.TEXT
            return True
        self._pending = self._pending[at + 1 :] if end == "\n" else self._pending[at:]
        self._index += 1
        self._name, self._seen = name, set()
        out.calls.append(CallPiece(self._index, name))
        self._at = _At.ARGS
        return True

    def _between(self, out: Pieces) -> bool:
        key, end = self._pending.find(KEY), self._pending.find(END_CALL)
        if key >= 0 and (end < 0 or key < end):
            self._pending = self._pending[key + len(KEY) :]
            self._at = _At.KEY
            return True
        if end < 0:
            return False
        self._pending = self._pending[end + len(END_CALL) :]
        out.add(self._index, "}" if self._seen else "{}")
        self._at = _At.TEXT
        return True

    def _read_key(self) -> bool:
        key, found, after = self._pending.partition(END_KEY)
        if not found:
            return False
        self._key, self._pending = key.strip(), after
        self._at = _At.AFTER_KEY
        return True

    def _begin_value(self, out: Pieces) -> bool:
        _, found, after = self._pending.partition(VALUE)
        if not found:
            return False
        self._pending = after
        self._skip = self._key in self._seen
        if is_text(self._schemas, self._name, self._key):
            self._at = _At.STRING
            if not self._skip:
                out.add(self._index, self._opening() + '"')
        else:
            self._at = _At.BUFFERED
        return True

    def _opening(self) -> str:
        opening = (", " if self._seen else "{") + json.dumps(self._key, ensure_ascii=False) + ": "
        self._seen.add(self._key)
        return opening

    def _string(self, out: Pieces) -> bool:
        text, found = self._take_until(END_VALUE)
        if text and not self._skip:
            out.add(self._index, json.dumps(text, ensure_ascii=False)[1:-1])
        if found:
            if not self._skip:
                out.add(self._index, '"')
            self._at = _At.ARGS
        return found

    def _value(self, out: Pieces) -> bool:
        text, found, after = self._pending.partition(END_VALUE)
        if not found:
            return False
        self._pending = after
        if not self._skip:
            out.add(self._index, self._opening() + json.dumps(decoded(text), ensure_ascii=False))
        self._at = _At.ARGS
        return True


def is_text(schemas: Schemas, tool: str, key: str) -> bool:
    """Whether a parameter is declared as exactly a string: only then its text is left as it is."""
    properties = cast("Mapping[str, Mapping[str, Any]]", schemas.get(tool, {}).get("properties") or {})
    return properties.get(key, {}).get("type") == "string"


def decoded(text: str) -> object:
    """A value that is not declared as a string: stripped, read as JSON, else as a Python literal, else text."""
    text = text.strip()
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        value: object = ast.literal_eval(text)
        json.dumps(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value
