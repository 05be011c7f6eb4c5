"""JSON objects that a model wrote, as they come off the wire: read, and mended where the fault is a known server's.

Nothing here closes an open string or object. A text that stops early stays broken, because a cut argument that is
closed by a reader looks whole and is not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NoReturn, cast

from pool.messages import valid_text
from pool_tools.frozen import frozen

MAX_DEPTH = 64
"""Nesting that is accepted; more is a model in a loop, and would exhaust the stack of whoever walks the value."""

MAX_EARLY_CLOSES = 32
"""How often one text may have closed its object too early; each costs one more parse of the whole."""

EXCERPT_CHARS = 24
"""Characters shown on each side of the place of an error."""

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_BLANKS = re.compile(r"\s*")
_PYTHON_CONTROL_MESSAGE = "Invalid control character"
_PYTHON_OPEN_STRING_MESSAGE = "Unterminated string"
_PYTHON_COMMA_MESSAGE = "Expecting ',' delimiter"


class Mend(StrEnum):
    """What was mended in a call, by the name that ends up in `Reading.repairs`."""

    CLOSED_EARLY = "arguments-closed-early"
    EXTRA_BRACE = "arguments-extra-brace"
    SENT_TWICE = "arguments-sent-twice"
    ENCODED_TWICE = "arguments-encoded-twice"
    SENT_AS_OBJECT = "arguments-sent-as-object"
    CONTROL_CHARACTERS = "arguments-control-characters"
    LONE_SURROGATES = "arguments-lone-surrogates"


class BadJson(ValueError):
    """Text that is not one JSON object. The message is a sentence for the model.

    incomplete says that the text only stops too early.
    """

    def __init__(self, message: str, *, incomplete: bool = False) -> None:
        super().__init__(message)
        self.incomplete = incomplete


@frozen
class ObjectText:
    """An object and what had to be mended to get at it."""

    value: dict[str, Any]
    mends: tuple[Mend, ...] = ()


def canonical(value: Any) -> str:
    """JSON text as Pool writes it everywhere: keys in order of arrival, characters as themselves."""
    return json.dumps(value, ensure_ascii=False)


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """The value if it is a JSON object, else None."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def read_prefix(text: str, start: int = 0) -> tuple[Any, int, tuple[Mend, ...]]:
    """The JSON value that begins at start (no blank there), where it ends, and mends. Raises `BadJson`."""
    mends: list[Mend] = []
    try:
        try:
            value, end = _STRICT.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if not error.msg.startswith(_PYTHON_CONTROL_MESSAGE):
                raise
            value, end = _LENIENT.raw_decode(text, start)
            mends.append(Mend.CONTROL_CHARACTERS)
    except json.JSONDecodeError as error:
        raise _explained(error, text) from error
    except RecursionError as error:
        raise BadJson(_TOO_DEEP) from error
    except BadJson:
        raise
    except ValueError as error:
        raise BadJson("The JSON holds a number with too many digits.") from error
    if _depth_exceeds(value, MAX_DEPTH):
        raise BadJson(_TOO_DEEP)
    if _SURROGATE_ESCAPE.search(text, start, end):
        mended = _with_valid_strings(value)
        if mended != value:
            value = mended
            mends.append(Mend.LONE_SURROGATES)
    return value, end, tuple(mends)


def read_object(text: str) -> ObjectText:
    """The one object that an `arguments` text means; nothing, blanks and `null` mean the empty object.

    Mends what servers are known to do: closing braces too early or too many (llama.cpp's stream), sending the object
    twice (vLLM issue 51697), encoding it twice, raw control characters in strings. Raises `BadJson`.
    """
    mends: list[Mend] = []
    clean = valid_text(text)
    if "\ufffd" in clean and clean.count("\ufffd") != text.count("\ufffd"):
        mends.append(Mend.LONE_SURROGATES)
    value = _read_one(clean, mends)
    if isinstance(value, str) and (not value.strip() or value.lstrip().startswith("{")):
        # Only a string that holds an object is decoded once more.
        value = _read_one(valid_text(value), mends)
        mends.append(Mend.ENCODED_TWICE)
    if value is None:
        return ObjectText({}, tuple(mends))
    if not isinstance(value, dict):
        raise BadJson(f"The arguments are {_kind(value)}, not a JSON object with the tool's parameters as keys.")
    return ObjectText(cast("dict[str, Any]", value), tuple(dict.fromkeys(mends)))


def named_call(value: Mapping[str, Any]) -> tuple[str, dict[str, Any], tuple[Mend, ...]]:
    """Name and arguments of a call written as one JSON object: `{"name": .., "arguments": {..}}`.

    `parameters` is taken for `arguments`, and OpenAI's outer `{"function": {..}}` is looked through. Raises `BadJson`.
    """
    inner = as_mapping(value.get("function"))
    body = inner if inner is not None else value
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        raise BadJson('The call is JSON without a "name".')
    arguments = body.get("arguments", body.get("parameters"))
    if arguments is None:
        return name.strip(), {}, ()
    if isinstance(arguments, str):
        read = read_object(arguments)
        return name.strip(), read.value, read.mends
    mapping = as_mapping(arguments)
    if mapping is None:
        raise BadJson(f"The arguments are {_kind(arguments)}, not a JSON object.")
    return name.strip(), dict(mapping), ()


_TOO_DEEP = f"The JSON is nested more than {MAX_DEPTH} levels deep."


def _read_one(text: str, mends: list[Mend]) -> Any:
    body = text.strip()
    if not body:
        return None
    first_end = 0
    for _ in range(MAX_EARLY_CLOSES):
        try:
            value, end, found = read_prefix(body)
        except BadJson as error:
            if first_end:
                raise _more_than_one(text.strip(), first_end) from error
            raise
        rest = body[end:].strip()
        if not rest:
            mends.extend(found)
            return value
        first_end = first_end or end
        if not isinstance(value, dict):
            raise _more_than_one(body, end)
        if not rest.strip("} \t\r\n"):
            mends.extend((*found, Mend.EXTRA_BRACE))
            return cast("dict[str, Any]", value)
        if rest.startswith("{"):
            _require_same(cast("dict[str, Any]", value), body, end)
            mends.extend((*found, Mend.SENT_TWICE))
            return cast("dict[str, Any]", value)
        # llama.cpp b11549 closes the object when it believes the call is over and then goes on writing.
        body = body[: end - 1] + body[end:]
        mends.append(Mend.CLOSED_EARLY)
    raise _more_than_one(text.strip(), first_end)


def _require_same(value: dict[str, Any], body: str, end: int) -> None:
    """Raise `BadJson` unless all that follows end in body repeats value."""
    expected = canonical(value)
    at = _after_blanks(body, end)
    while at < len(body):
        try:
            other, at, _ = read_prefix(body, at)
        except BadJson as error:
            raise _more_than_one(body, end) from error
        if canonical(other) != expected:
            raise _more_than_one(body, end)
        at = _after_blanks(body, at)


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _more_than_one(body: str, end: int) -> BadJson:
    excerpt = body[end : end + EXCERPT_CHARS]
    return BadJson(
        f"The arguments are not one JSON object: it is complete after {end} characters, and then comes {excerpt!r}."
    )


def _explained(error: json.JSONDecodeError, text: str) -> BadJson:
    if error.msg.startswith(_PYTHON_OPEN_STRING_MESSAGE) or error.pos >= len(text.rstrip()):
        tail = text.rstrip()[-EXCERPT_CHARS:]
        return BadJson(
            f"The JSON stops before it is complete, after {len(text)} characters ({tail!r}): "
            "a closing quote or brace is missing, or the call was cut off.",
            incomplete=True,
        )
    near = text[max(0, error.pos - EXCERPT_CHARS) : error.pos + EXCERPT_CHARS]
    hint = ""
    if error.msg == _PYTHON_COMMA_MESSAGE:
        hint = ' A quote inside a string must be written as \\".'
    what = error.msg[0].lower() + error.msg[1:]
    return BadJson(f"The JSON is not valid: {what} at character {error.pos + 1}, near {near!r}.{hint}")


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "no JSON object"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key given twice with one value is one key; with two values it is ambiguous, and no server agrees on which wins
    (vLLM's stream keeps the first, its whole body the last).
    """
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result and canonical(result[key]) != canonical(value):
            raise BadJson(f"The key {canonical(key)} is given twice, with different values. Give it once.")
        result.setdefault(key, value)
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise BadJson(f"The JSON holds {name}, which is not a JSON number.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadJson(f"The JSON holds {text}, which is too large a number.")
    return value


_STRICT = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_float=_finite)
_LENIENT = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_float=_finite, strict=False
)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(cast("dict[str, Any]", item).values())
            elif isinstance(item, list):
                below.extend(cast("list[Any]", item))
        if not below:
            return False
        level = below
    return True


def _with_valid_strings(value: Any) -> Any:
    match value:
        case str():
            return valid_text(value)
        case list():
            return [_with_valid_strings(item) for item in cast("list[Any]", value)]
        case dict():
            members = cast("dict[str, Any]", value)
            return {valid_text(key): _with_valid_strings(item) for key, item in members.items()}
        case _:
            return value
