"""Finds calls that a model made but its server left in the text as markup (see `tags` for the dialects).

Running text is dangerous, so the rule is narrow: the markup must be whole, stand outside code, and end the text
(several calls may follow each other); the name must be a tool's and the arguments must fit its schema. Everything else
is either text or a call to be asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pool.wire.aliases import argument_key
from pool.wire.codespans import code_spans, covering, fenced_spans
from pool.wire.coerce import allowed_types, clean_name, coerce, literal
from pool.wire.jsontext import as_mapping, canonical
from pool.wire.reading import MAX_CALLS, TOO_MANY_CALLS, RawCall
from pool.wire.tags import CALL, CALL_END, OPENERS, USER, BadMarkup, MarkedCall, may_be_call, read_call
from pool_tools.frozen import frozen

__all__ = ["OPENERS", "MarkupFinding", "find_calls", "looks_like_call_start"]

LOOKAHEAD_CHARS = 1024
"""Enough of a text to tell whether markup begins: opening tags, a name, blanks and the next tag."""

MAX_ATTEMPTS = 64
"""How many openers that may stand for anything are tried; each costs time in the length of the text."""

_OPENER = re.compile("|".join(re.escape(opener) for opener in OPENERS))
_EMPTY_IN_PROSE = re.compile(rf"{CALL}\s*{CALL_END}\s*\S")
_BLANKS = re.compile(r"\s*")
_FIXED = frozenset({"$ref", "enum", "const"})
_NOT_LAST = "The call stands in the middle of the text; a call must be the last thing in a reply."


@frozen
class MarkupFinding:
    """What was found.

    calls can be run (their arguments already fit the schema), unless rejected says why the markup is not runnable; the
    two exclude each other. before and after are the text around the markup; without markup, before is all of it.
    spans holds start and end of each call's markup, and is empty if and only if there is no markup.
    """

    calls: tuple[RawCall, ...] = ()
    before: str = ""
    after: str = ""
    rejected: str = ""
    spans: tuple[tuple[int, int], ...] = ()


def looks_like_call_start(text: str, start: int = 0) -> bool | None:
    """Whether text with one of `OPENERS` at start is call markup there: True, False, or None if more text must tell.

    Both answers are final. Cost does not depend on the length of the text.
    """
    verdict = may_be_call(text[start : start + LOOKAHEAD_CHARS])
    return False if verdict is None and len(text) - start > LOOKAHEAD_CHARS else verdict


def find_calls(text: str, tools: Mapping[str, Mapping[str, Any]], *, at_natural_end: bool) -> MarkupFinding:
    """Find the calls at the end of a text.

    tools maps names to JSON schemas. at_natural_end says that the model itself ended the text: only then may the last
    closing tag be missing, as a text that was cut looks the same.
    """
    openers = [match.start() for match in _OPENER.finditer(text)]
    if not openers:
        return MarkupFinding(before=text)
    fences, spans, end = fenced_spans(text), code_spans(text), len(text.rstrip())
    attempts = 0
    for start in openers:
        if covering(fences, start) or not _begins_markup(text, start):
            continue
        code = covering(spans, start)
        # A stray backtick before the call that pairs up with one in an argument makes no code of the call.
        if code and (text[start - 1] == "`" or code[1] >= end):
            continue
        finding = _judged(text, start, tools, at_natural_end)
        # `<user>` may stand for anything, and so may what is in code: they count only if a call comes of them.
        if finding.calls or not (code or text.startswith(USER, start)):
            return finding
        attempts += 1
        if attempts == MAX_ATTEMPTS:
            break
    return MarkupFinding(before=text)


def _begins_markup(text: str, start: int) -> bool:
    verdict = looks_like_call_start(text, start)
    if verdict is None:
        # The text ends right after an opener: a call that was begun.
        return True
    return verdict and _EMPTY_IN_PROSE.match(text, start) is None


def _judged(text: str, start: int, tools: Mapping[str, Mapping[str, Any]], at_natural_end: bool) -> MarkupFinding:
    """Read the markup that begins at start, and decide whether it is to be run."""
    before = text[:start]
    try:
        marked = _run_of_calls(text, start)
    except BadMarkup as error:
        return MarkupFinding(before=before, rejected=str(error), spans=((start, len(text)),))
    end = marked[-1].end
    after = text[end:]
    spans = tuple((call.start, call.end) for call in marked)
    try:
        if after.strip():
            raise BadMarkup(_NOT_LAST)
        calls = tuple(_runnable(call, tools) for call in _without_repeats(marked, at_natural_end))
    except BadMarkup as error:
        return MarkupFinding(before=before, after=after, rejected=str(error), spans=spans)
    return MarkupFinding(calls, before, after, spans=spans)


def _run_of_calls(text: str, start: int) -> list[MarkedCall]:
    """The call at start and those that follow it with nothing but blanks between. Raises `BadMarkup`."""
    calls = [read_call(text, start)]
    while True:
        blanks = _BLANKS.match(text, calls[-1].end)
        at = blanks.end() if blanks else calls[-1].end
        if not _OPENER.match(text, at) or not _begins_markup(text, at):
            return calls
        if len(calls) == MAX_CALLS:
            raise BadMarkup(TOO_MANY_CALLS)
        calls.append(read_call(text, at))


def _without_repeats(marked: list[MarkedCall], at_natural_end: bool) -> list[MarkedCall]:
    """Drop a call that was begun, not closed and then begun again (Ollama's parser has a test for it)."""
    for call, following in pairwise(marked):
        if not call.closed and (call.name, call.arguments) != (following.name, following.arguments):
            raise BadMarkup(f'The call of "{call.name}" is not closed: {CALL_END} is missing before the next call.')
    if not marked[-1].closed and not at_natural_end:
        raise BadMarkup(f'The call of "{marked[-1].name}" is not complete: its closing tag is missing.')
    return [call for call in marked[:-1] if call.closed] + marked[-1:]


def _runnable(call: MarkedCall, tools: Mapping[str, Mapping[str, Any]]) -> RawCall:
    """The call with its registered name and fitting arguments. Raises `BadMarkup`."""
    name = clean_name(call.name, tools)
    if name is None:
        raise BadMarkup(f'There is no tool named "{call.name}". The tools are: {", ".join(tools) or "none"}.')
    schema = tools[name]
    coerced = coerce(_typed(call.arguments, schema) if call.plain else call.arguments, schema)
    if coerced.problems:
        raise BadMarkup(f"{name}: {' '.join(coerced.problems)}")
    return RawCall("", name, canonical(coerced.arguments), recovered=True)


def _typed(arguments: Mapping[str, str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Values from tags, which are all text: those of parameters that take no string are decoded."""
    properties = as_mapping(schema.get("properties")) or {}
    result: dict[str, Any] = {}
    for key, value in arguments.items():
        target = argument_key(key, properties, taken=arguments.keys())
        parameter = as_mapping(properties[target]) if target else None
        text = parameter is None or "string" in allowed_types(parameter) or bool(_FIXED & parameter.keys())
        result[key] = value if text else literal(value)
    return result
