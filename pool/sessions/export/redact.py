"""Taking secrets and names of people's folders out of a session before it is shared.

Two passes: the first finds secrets by their shape or by what stands around them, the second takes them out wherever
they stand, also where nothing tells that they are secrets. Found are plain text, JSON-escaped text and text with line
breaks inside. Not found are encoded forms (base64, hexadecimal, compressed), and secrets that are ordinary words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pool.sessions.export.patterns import (
    PLACEHOLDER,
    SHAPES,
    Shape,
    is_count,
    is_reference,
    worth_learning,
)

MOST_SECRETS = 400
"""So many secrets are looked for everywhere; more are taken out only where their shape tells."""

LEAST_KNOWN = 6
DUMMY_KEYS = frozenset(
    "ollama lm-studio empty dummy not-needed no-key-required sk-no-key-required api-key apikey secret token".split()
)
"""What people set as the key of a local server that asks for none."""

LEAST_NAME = 3
COMMON_NAMES = frozenset(
    "root user users admin dev test tests guest ubuntu debian fedora pool git home runner node docker app work build "
    "python main code agent default nobody daemon system operator pi vagrant ec2-user codespace jovyan vscode".split()
)
"""Names of accounts that are ordinary words: never taken out of text, only as a part of a home folder's path."""

_MARKERS = re.compile("|".join(sorted({re.escape(m) for shape in SHAPES for m in shape.markers})))
_SHORT = 80
_MOST_SHORT = 50_000
"""Of shorter texts so many are remembered in which nothing was found: the same names and words come again and again."""

_PLAIN = re.compile(r"[!#-.0-\[\]-~]+")
"""Texts that JSON writes as they are. A line break stands in the beginning or in the end of one, not in both."""

_ESCAPED = re.compile(r"(?<!\\)\\+(?:u00([2-7][0-9a-fA-F])|/)")
_HOMES = re.compile(r"(?<![\w.~/\\-])(?:\\*/)+(?:home|Users)\\*/(?!\.)[^\s/\\:\"'<>|,;()\[\]{}*?$`]+")
_WINDOWS_HOME = re.compile(r"\b[A-Za-z]:\\+Users\\+[^\s\\:\"'<>|/]+")


@dataclass(slots=True)
class Found:
    """What was taken out: how many places by kind of secret, and how many home paths and user names."""

    secrets: Counter[str] = field(default_factory=Counter[str])
    names: int = 0

    def as_json(self) -> dict[str, object]:
        """For the exported file."""
        return {"applied": True, "secrets": dict(sorted(self.secrets.items())), "home_paths_and_names": self.names}

    def sentence(self) -> str:
        """For people."""
        total = sum(self.secrets.values())
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.secrets.items()))
        shown = f" ({kinds})" if kinds else ""
        return (
            f"Redacted: {total} places with secrets{shown}, {self.names} home paths or user names. "
            "Encoded secrets (base64, for instance) are not found."
        )


class Redactor:
    """Learns the secrets of a session's texts, then cleans them.

    known are secrets by value (the configured API key); homes are home folders, names user names.
    """

    def __init__(self, known: Iterable[str] = (), homes: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self.found = Found()
        self._numbers: dict[str, str] = {}
        self._learned: dict[str, str] = {}
        self._heard: set[str] = set()
        self._clean: set[tuple[str, bool]] = set()
        for value in known:
            if len(value) >= LEAST_KNOWN and value.lower() not in DUMMY_KEYS:
                self._learned[value] = "known"
        self._literals: list[tuple[str, str, re.Pattern[str]]] | None = None
        homes = sorted({h.rstrip("/") for h in homes if len(h.rstrip("/")) > 1}, key=len, reverse=True)
        slashed = "|".join(re.escape(h).replace("/", r"\\*/") for h in homes)
        self._home_words = tuple(h.rpartition("/")[2] for h in homes)
        self._home = re.compile(rf"(?<![\w.~\\-])(?:{slashed})(?![\w-])") if homes else None
        wanted = sorted({n for n in names if len(n) >= LEAST_NAME and n.lower() not in COMMON_NAMES})
        self._name_words = tuple(wanted)
        self._name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, wanted))})(?!\w)") if wanted else None

    def learn(self, text: str) -> None:
        """First pass: note the secrets in a text."""
        if text in self._heard:
            return
        if len(text) <= _SHORT and len(self._heard) < _MOST_SHORT:
            self._heard.add(text)

        def note(shape: Shape, value: str, start: int, end: int) -> None:
            value = re.sub(r"\\+[nr]|\s", "", value) if shape.kind != "value" else value
            if shape.learn and len(self._learned) < MOST_SECRETS and worth_learning(value):
                self._learned.setdefault(value, shape.kind)

        _scan(_view(text)[0], note)

    def clean(self, text: str, *, names: bool = True) -> str:
        """Second pass: the text without secrets; names: without home paths and user names too."""
        if len(text) < LEAST_NAME or (text, names) in self._clean:
            return text
        out = self._without_secrets(text)
        out = self._without_names(out) if names else out
        if out == text and len(text) <= _SHORT and len(self._clean) < _MOST_SHORT:
            self._clean.add((text, names))
        return out

    def _without_secrets(self, text: str) -> str:
        view, where = _view(text)
        spans: list[tuple[int, int, str, str]] = []

        def note(shape: Shape, value: str, start: int, end: int) -> None:
            spans.append((start, end, shape.kind, value))

        for value, kind, pattern in self._patterns():
            if not _PLAIN.fullmatch(value) or value[:4] in view or value[-4:] in view:
                spans += ((m.start(), m.end(), kind, value) for m in pattern.finditer(view))
        _scan(view, note)
        if not spans:
            return text
        out: list[str] = []
        at = 0
        for start, end, kind, value in _apart(spans):
            first, last = (where[start], where[end]) if where else (start, end)
            out += [text[at:first], self._placeholder(kind, value)]
            self.found.secrets[kind] += 1
            at = last
        return "".join([*out, text[at:]])

    def _placeholder(self, kind: str, value: str) -> str:
        """The same secret has the same number everywhere."""
        key = re.sub(r"\\+[nr]|\s", "", value)
        if key not in self._numbers:
            self._numbers[key] = f"{PLACEHOLDER}{kind}-{len(self._numbers) + 1}]"
        return self._numbers[key]

    def _without_names(self, text: str) -> str:
        count = 0
        if self._home is not None and any(word in text for word in self._home_words):
            text, hits = self._home.subn("~", text)
            count += hits
        if "home" in text or "Users" in text:
            for pattern in (_HOMES, _WINDOWS_HOME):
                text, hits = pattern.subn("~", text)
                count += hits
        if self._name is not None and any(word in text for word in self._name_words):
            text, hits = self._name.subn("~", text)
            count += hits
        self.found.names += count
        return text

    def _patterns(self) -> list[tuple[str, str, re.Pattern[str]]]:
        if self._literals is None:
            by_length = sorted(self._learned.items(), key=lambda item: -len(item[0]))
            self._literals = [(value, kind, _anywhere(value)) for value, kind in by_length]
        return self._literals


def _anywhere(value: str) -> re.Pattern[str]:
    """A literal, plain or JSON-escaped, also with line breaks inside."""
    gap = r"(?:(?:\\+r|\r)?(?:\\+n|\n)[ \t]*)?"
    return re.compile(gap.join(_written(c) for c in re.sub(r"\\+", r"\\", value)))


def _written(char: str) -> str:
    """A pattern for a character and its JSON escape. No two ways to match the same: that would not end."""
    if char == "\\":
        return r"\\*"
    if char in '"/':
        return rf"\\*{char}"
    plain, escaped = re.escape(char), json.dumps(char)[1:-1]
    return plain if escaped == char else rf"(?:{plain}|\\*{re.escape(escaped)})"


def _view(text: str) -> tuple[str, list[int] | None]:
    """The text with JSON's escapes of plain characters undone, and where each character began (None: as it is)."""
    if "\\" not in text or not _ESCAPED.search(text):
        return text, None
    out: list[str] = []
    where: list[int] = []
    at = 0
    for match in _ESCAPED.finditer(text):
        out.append(text[at : match.start()])
        where += range(at, match.start())
        out.append(chr(int(match.group(1), 16)) if match.group(1) else "/")
        where.append(match.start())
        at = match.end()
    out.append(text[at:])
    where += range(at, len(text) + 1)
    return "".join(out), where


def _scan(view: str, note: Callable[[Shape, str, int, int], None]) -> None:
    """Call note with each secret in a text, and where it is."""
    low = view.lower()
    if not _MARKERS.search(low):
        return
    for shape in SHAPES:
        if not any(marker in low for marker in shape.markers):
            continue
        groups = shape.pattern.groupindex
        for match in shape.pattern.finditer(view):
            group: str | int = 0
            if "s" in groups:
                group = "s" if match.group("s") is not None else "t"
            value = match.group(group)
            if group != 0 and (is_reference(value) or is_count(match.group(), value)):
                continue
            note(shape, value, *match.span(group))


def _apart(spans: list[tuple[int, int, str, str]]) -> list[tuple[int, int, str, str]]:
    """Spans in order, those that touch each other made one."""
    spans.sort(key=lambda s: (s[0], -s[1]))
    out: list[tuple[int, int, str, str]] = []
    for span in spans:
        if out and span[0] < out[-1][1]:
            start, end, kind, value = out[-1]
            out[-1] = (start, max(end, span[1]), kind, value)
        else:
            out.append(span)
    return out
