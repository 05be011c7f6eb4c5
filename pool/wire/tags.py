"""The grammar of call markup: reads one call that a model wrote as text, in the dialects that servers leave in text.

- Laguna v8: `<tool_call>NAME<arg_key>K</arg_key><arg_value>V</arg_value></tool_call>`; v5: a newline after each tag.
- Qwen3-coder: `<tool_call>`, then `<function=NAME>`, `<parameter=K>`, V, `</parameter>`, ... on lines of their own; the
  outer tag may be missing.
- Hermes: `<tool_call>{"name": .., "arguments": {..}}</tool_call>`.
- LM Studio: `[TOOL_REQUEST]{"name": .., "arguments": {..}}[END_TOOL_REQUEST]`.
- What Ollama's Laguna parser has met: the opening tag doubled, `<user>` for or around `<tool_call>`, a JSON object
  after the name, the whole call begun twice, the last `</tool_call>` missing.

No dialect has an escape for its closing tags, so a value ends at the first one.
"""

from __future__ import annotations

import re
from typing import Any

from pool.wire.jsontext import EXCERPT_CHARS, BadJson, as_mapping, named_call, read_prefix
from pool_tools.frozen import frozen

CALL, CALL_END = "<tool_call>", "</tool_call>"
USER, USER_END = "<user>", "</user>"
KEY, KEY_END = "<arg_key>", "</arg_key>"
VALUE, VALUE_END = "<arg_value>", "</arg_value>"
FUNCTION, FUNCTION_END = "<function=", "</function>"
PARAMETER, PARAMETER_END = "<parameter=", "</parameter>"
REQUEST, REQUEST_END = "[TOOL_REQUEST]", "[END_TOOL_REQUEST]"

OPENERS: tuple[str, ...] = (CALL, FUNCTION, REQUEST, USER)
"""Tags with which a call written as text may begin."""

MAX_NAME_CHARS = 128
"""Longest tool name in markup; OpenAI allows 64, servers of MCP tools use more."""

MAX_OPENERS = 8
"""Most opening tags in a row with which a call may begin; two or three have been seen."""

_TOO_MANY_OPENERS = re.compile(rf"(?:(?:{CALL}|{USER})\s*){{{MAX_OPENERS + 1}}}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")
_BLANKS = re.compile(r"\s*")
_JSON_KEY = re.compile(r'\{\s*"(?P<key>[^"\\]*)(?P<end>"?)')
_CALL_KEYS = ("name", "arguments", "function")


class BadMarkup(ValueError):
    """Call markup that cannot be read as one whole call. The message is a sentence for the model."""


@frozen
class MarkedCall:
    """A call as written. start and end are its place in the text.

    plain says that the argument values are text without a type (tags) rather than JSON values. closed says that the
    closing tag is there.
    """

    start: int
    end: int
    name: str
    arguments: dict[str, Any]
    plain: bool
    closed: bool


def may_be_call(text: str) -> bool | None:
    """Whether text that begins with an opener is a call (True), cannot be one (False), or is too short to tell (None).

    True is final: more text never makes it False. It says that this is call markup, not that the call is whole.
    """
    if _TOO_MANY_OPENERS.match(text):
        return False
    at, tag = 0, ""
    while True:
        rest = text[at:].lstrip()
        found = next((opener for opener in OPENERS if rest.startswith(opener)), None)
        if found is None or (tag and found == REQUEST):
            break
        at, tag = len(text) - len(rest) + len(found), found
        if tag in (FUNCTION, REQUEST):
            break
    rest = text[at:]
    match tag:
        case "":
            return None if _begins_one_of(text, OPENERS) else False
        case _ if tag == FUNCTION:
            return _may_be_function(rest)
        case _ if tag == REQUEST:
            return _may_be_json(rest.lstrip(), any_key=True)
        case _:
            return _may_be_body(rest.lstrip(), in_call=tag == CALL)


def read_call(text: str, start: int) -> MarkedCall:
    """Read the call that begins at start, which `may_be_call` must not have refused. Raises `BadMarkup`."""
    return _Reader(text, start).call()


def _may_be_body(rest: str, *, in_call: bool) -> bool | None:
    """What may follow `<tool_call>` or `<user>`."""
    if not rest or _begins_one_of(rest, OPENERS):
        return None
    if rest.startswith("{"):
        return _may_be_json(rest, any_key=in_call)
    follow = (KEY, CALL_END) if in_call else (KEY,)
    name = _NAME.match(rest)
    after = rest[name.end() :].lstrip() if name else rest
    if name and name.end() > MAX_NAME_CHARS:
        return False
    if after.startswith(follow):
        return True
    if not after or _begins_one_of(after, follow):
        return None
    if name and after.startswith("{"):
        return True if re.match(r"\{\s*[\"}]", after) else (None if not after[1:].strip() else False)
    return False


def _may_be_function(rest: str) -> bool | None:
    """What may follow `<function=`."""
    name = _NAME.match(rest)
    if name is None or name.end() > MAX_NAME_CHARS:
        return None if not rest else False
    after = rest[name.end() :]
    if not after:
        return None
    if not after.startswith(">"):
        return False
    after = after[1:].lstrip()
    if after.startswith((PARAMETER, FUNCTION_END)):
        return True
    return None if not after or _begins_one_of(after, (PARAMETER, FUNCTION_END)) else False


def _may_be_json(rest: str, *, any_key: bool) -> bool | None:
    """A JSON object that describes a call. Where prose is likely (`<user>`), its first key must be a call's."""
    if not rest.startswith("{"):
        return False if rest else None
    key = _JSON_KEY.match(rest)
    if key is None:
        return None if not rest[1:].strip() else False
    if any_key or (key["end"] and key["key"] in _CALL_KEYS):
        return True
    return None if key.end() == len(rest) and _begins_one_of(key["key"], _CALL_KEYS) else False


def _begins_one_of(text: str, tags: tuple[str, ...]) -> bool:
    return any(tag.startswith(text) for tag in tags)


class _Reader:
    """A position in the text, and the rules of the grammar."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = start
        self._at = start

    def call(self) -> MarkedCall:
        in_user = self._take(USER)
        opened = 0
        self._blanks()
        while self._take(CALL):
            opened += 1
            self._blanks()
        if not opened and self._take(REQUEST):
            self._blanks()
            return self._done(*self._json_call(), plain=False, closers=(REQUEST_END,))
        closers = ((CALL_END,) if opened or not in_user else ()) + ((USER_END,) if in_user else ())
        if self._take(FUNCTION):
            name, arguments, closed = self._function()
            return self._done(name, arguments, plain=True, closers=closers, closed=closed and not opened)
        if self._peek("{"):
            return self._done(*self._json_call(), plain=False, closers=closers)
        return self._named(closers)

    def _named(self, closers: tuple[str, ...]) -> MarkedCall:
        """A call in Laguna's own form: the name, then arguments in tags, or in JSON, or none."""
        name = _NAME.match(self._text, self._at)
        self._at = name.end() if name else self._at
        on_lines = self._blanks().startswith(("\n", "\r\n"))
        if self._peek(KEY):
            arguments, plain = self._tagged(on_lines), True
        elif name and self._peek("{"):
            arguments, plain = self._json(), False
        elif self._at == len(self._text):
            raise BadMarkup("The call stops after the tool's name.")
        else:
            arguments, plain = {}, True
        if name is None:
            raise BadMarkup(f"The call has no tool name: the name comes directly after {CALL}.")
        return self._done(name[0], arguments, plain=plain, closers=closers)

    def _tagged(self, on_lines: bool) -> dict[str, str]:
        """`<arg_key>` and `<arg_value>` pairs.

        Values are kept byte for byte (vLLM, Ollama). Only where tags stand on lines of their own (v5) and every value
        has a newline on both sides are those the tags' and not the values' (SGLang strips them).
        """
        arguments: dict[str, str] = {}
        while self._take(KEY):
            key = self._until(KEY_END).strip()
            self._blanks()
            if not self._take(VALUE):
                raise BadMarkup(f'The argument "{key}" has no value.')
            value = self._until(VALUE_END)
            if VALUE in value or KEY in value:
                raise BadMarkup(f'The value of "{key}" holds {VALUE} or {KEY}, so where it ends is not certain.')
            self._add(arguments, key, value)
            self._blanks()
        padded = all(len(value) > 1 and value[0] == value[-1] == "\n" for value in arguments.values())
        return {key: value[1:-1] for key, value in arguments.items()} if on_lines and padded else arguments

    def _function(self) -> tuple[str, dict[str, str], bool]:
        """Qwen's form; one newline on each side of a value belongs to the tags."""
        name = self._until(">").strip()
        arguments: dict[str, str] = {}
        self._blanks()
        while self._take(PARAMETER):
            key = self._until(">").strip()
            value = self._until(PARAMETER_END)
            if PARAMETER in value:
                raise BadMarkup(f'The value of "{key}" holds {PARAMETER}, so where it ends is not certain.')
            self._add(arguments, key, value.removeprefix("\n").removesuffix("\n"))
            self._blanks()
        return name, arguments, self._take(FUNCTION_END)

    def _add(self, arguments: dict[str, str], key: str, value: str) -> None:
        if not key:
            raise BadMarkup("An argument has no name.")
        if arguments.get(key, value) != value:
            raise BadMarkup(f'The argument "{key}" is given twice, with different values.')
        arguments[key] = value

    def _json_call(self) -> tuple[str, dict[str, Any]]:
        try:
            name, arguments, _ = named_call(self._json())
        except BadJson as error:
            raise BadMarkup(str(error)) from error
        return name, arguments

    def _json(self) -> dict[str, Any]:
        try:
            value, self._at, _ = read_prefix(self._text, self._at)
        except BadJson as error:
            raise BadMarkup(str(error)) from error
        mapping = as_mapping(value)
        if mapping is None:
            raise BadMarkup("The call's JSON is not an object.")
        return dict(mapping)

    def _done(
        self, name: str, arguments: dict[str, Any], *, plain: bool, closers: tuple[str, ...], closed: bool = False
    ) -> MarkedCall:
        """Take the closing tags. They may be missing at the end of the text, and where the same call begins anew."""
        while True:
            end = self._at
            self._blanks()
            if not any(self._take(closer) for closer in closers):
                break
            closed = True
        if not closed and self._at < len(self._text) and not self._peek(CALL):
            found = self._text[self._at : self._at + EXCERPT_CHARS]
            raise BadMarkup(f"The call is not complete: {closers[0]} was expected where {found!r} stands.")
        return MarkedCall(self._start, end, name, arguments, plain, closed)

    def _until(self, tag: str) -> str:
        end = self._text.find(tag, self._at)
        if end < 0:
            raise BadMarkup(f"The call is not complete: {tag} is missing.")
        value, self._at = self._text[self._at : end], end + len(tag)
        return value

    def _take(self, tag: str) -> bool:
        taken = self._peek(tag)
        self._at += len(tag) if taken else 0
        return taken

    def _peek(self, tag: str) -> bool:
        return self._text.startswith(tag, self._at)

    def _blanks(self) -> str:
        blanks = _BLANKS.match(self._text, self._at)
        assert blanks is not None
        self._at = blanks.end()
        return blanks[0]
