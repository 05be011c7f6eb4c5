"""Taking secret values out of text and output: each becomes `[secret NAME]`, also where it comes in pieces or encoded.

Looked for are the value itself, each longer line of it, and its usual spellings: base64 (at any place in what was
encoded, in lines too), hexadecimal, URL-encoded, and quoted for JSON, HTML and shells. What a program disguises on
purpose (reversed, encrypted, one character a line) cannot be found by anybody.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import Any, cast
from urllib.parse import quote, quote_plus

LEAST_CHARS = 6
"""A shorter value cannot be a secret: replacing it would destroy text that has nothing to do with it."""

LEAST_LINE_CHARS = 12
"""A line of a value with several lines is looked for by itself from this length on."""

_LEAST_WRAPPED_CHARS = 16
_WRAPPED_AT = (64, 76)
"""Line lengths of PEM files and of the command base64."""

_FENCE = "-----"
"""Lines of PEM files that are the same in every one."""


class Mask:
    """Replaces values, by their names. Immutable; without values it changes nothing."""

    def __init__(self, values: Mapping[str, str], more: Iterable[tuple[str, str]] = ()) -> None:
        """values are secrets by their names, each at least `LEAST_CHARS` long; more are others, names may repeat."""
        names: dict[str, str] = {}
        for name, value in (*values.items(), *more):
            for form in _forms(value):
                names.setdefault(form, name)
        self._names = {form: f"[secret {name}]" for form, name in names.items()}
        by_length = sorted(self._names, key=len, reverse=True)
        self._forms = tuple(by_length)
        self._raw = {form.encode(): words.encode() for form, words in self._names.items()}
        self._raw_forms = tuple(form.encode() for form in by_length)

    def __bool__(self) -> bool:
        return bool(self._forms)

    # Made when something is found: that takes 0.1 s for a long value of many lines, and mostly nothing is.
    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._forms)))

    @cached_property
    def _raw_pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(map(re.escape, self._raw_forms)))

    def text(self, text: str) -> str:
        """text without any value."""
        # Looking for each form is quick, one expression for all of them is not.
        if not any(form in text for form in self._forms):
            return text
        return self._pattern.sub(lambda found: self._names[found[0]], text)

    def holds(self, data: bytes) -> bool:
        """Whether a value is in data."""
        return any(form in data for form in self._raw_forms)

    def data(self, data: bytes) -> bytes:
        """Bytes without any value."""
        return self._raw_pattern.sub(lambda found: self._raw[found[0]], data) if self.holds(data) else data

    def within(self, value: Any) -> Any:
        """The same for all texts in lists, tuples, dicts and dataclasses."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.within(item) for item in cast(list[Any], value)]
            case tuple():
                return tuple(self.within(item) for item in cast(tuple[Any, ...], value))
            case dict():
                return {key: self.within(item) for key, item in cast(dict[Any, Any], value).items()}
            case _ if is_dataclass(value) and not isinstance(value, type):
                changed = {f.name: self.within(getattr(value, f.name)) for f in fields(value) if f.init}
                return replace(value, **{n: new for n, new in changed.items() if new is not getattr(value, n)})
            case _:
                return value

    def stream(self) -> MaskedStream:
        """For output that comes in pieces."""
        return MaskedStream(self._raw_forms, self.data)


NO_MASK = Mask({})


class MaskedStream:
    """Gives on what comes, without values; the beginning of one is held back until it is clear whether it is one."""

    def __init__(self, forms: tuple[bytes, ...], clean: Callable[[bytes], bytes]) -> None:
        self._forms = forms
        self._clean = clean
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take a piece; what can be given on now."""
        # A value that is whole is replaced first: its own end may look like the beginning of another.
        whole = self._clean(self._held + data)
        keep = max((_begun(form, whole) for form in self._forms), default=0)
        self._held = whole[len(whole) - keep :]
        return whole[: len(whole) - keep]

    def end(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return held


def _begun(form: bytes, data: bytes) -> int:
    """How many bytes at the end of data are the beginning of form."""
    at = max(0, len(data) - len(form) + 1)
    while (at := data.find(form[:1], at)) >= 0:
        if form.startswith(data[at:]):
            return len(data) - at
        at += 1
    return 0


def _forms(value: str) -> Iterator[str]:
    """All spellings of a value that are looked for."""
    for text in dict.fromkeys((value, value.strip("\n"), *_lines(value))):
        for form in dict.fromkeys(_spellings(text)):
            if len(form) >= LEAST_CHARS:
                yield form


def _lines(value: str) -> Iterator[str]:
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= LEAST_LINE_CHARS and not line.startswith(_FENCE))


def _spellings(text: str) -> Iterator[str]:
    raw = text.encode("utf-8", "surrogatepass")
    yield text
    yield from (text.replace("\n", "\r\n"), quote(text, safe=""), quote_plus(text), quote(text))
    yield _lower_escapes(quote(text, safe=""))
    yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
    yield from (html.escape(text), text.replace("'", "'\\''"))
    yield from (raw.hex(), raw.hex().upper())
    for plain in _base64(raw):
        yield plain
        yield plain.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def _lower_escapes(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text)


def _base64(raw: bytes) -> Iterator[str]:
    """A value encoded by itself, in lines, and at any place within something longer."""
    for whole in (raw, raw + b"\n"):
        encoded = base64.b64encode(whole).decode("ascii")
        yield encoded
        yield encoded.rstrip("=")
        for width in _WRAPPED_AT:
            lines = [encoded[at : at + width] for at in range(0, len(encoded), width)]
            if len(lines) > 1:
                yield from (line for line in lines if len(line) >= _LEAST_WRAPPED_CHARS)
    for before in range(3):
        # Characters at both ends carry bits of the neighbours: they are left, the rest is the same everywhere.
        encoded = base64.b64encode(bytes(before) + raw).decode("ascii")
        yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
