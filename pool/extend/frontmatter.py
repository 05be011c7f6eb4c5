"""The front matter of a Markdown file: YAML between two lines of three dashes, at its very beginning.

The text may come with a checkout, so it is bounded, has no anchors (which could stand for more than any memory holds)
and becomes plain values only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from pool_tools.frozen import frozen

MOST_CHARS = 16 * 1024
"""Longest front matter that is read."""

MOST_CHARS_SLOW = 2_000
"""The same where PyYAML lacks libyaml."""

_FENCE = "---"
_LINE = re.compile(r"([\w-]+):[ \t]*(.*)")
_END = re.compile(r"^---[ \t]*$", re.MULTILINE)


class FrontMatterError(Exception):
    """Front matter that cannot be read. line is that of the file, 0 if none; the message says what is wrong."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


@frozen
class Parted:
    """A file's front matter, empty where there is none, and the text after it."""

    values: Mapping[str, object]
    body: str


def parted(text: str, *, by_lines: bool = False) -> Parted:
    """Take a file's text apart. Raises `FrontMatterError`.

    by_lines: the front matter is lines of `name: value`, as people write them who do not think of YAML; all values are
    texts then, and `[FILE] [LINE]` is one.
    """
    first, _, rest = text.partition("\n")
    if first.rstrip() != _FENCE:
        return Parted({}, text.strip())
    end = _END.search(rest)
    if end is None:
        raise FrontMatterError("the front matter has no end: a line with --- and nothing else is missing", 1)
    head = rest[: end.start()]
    if len(head) > MOST_CHARS:
        raise _too_long(MOST_CHARS)
    return Parted(_by_lines(head) if by_lines else _values(head), rest[end.end() :].strip())


def _too_long(most: int) -> FrontMatterError:
    """The fault of front matter that is longer than so many characters."""
    return FrontMatterError(f"the front matter is longer than {most:,} characters", 1)


def _by_lines(head: str) -> Mapping[str, str]:
    values: dict[str, str] = {}
    name = ""
    for line in head.splitlines():
        if line[:1].isspace():
            # A text that goes on below `name: >`.
            values[name] = f"{values.get(name, '').lstrip('>|-')} {line.strip()}".strip()
        elif found := _LINE.fullmatch(line.rstrip()):
            name = found[1]
            values[name] = _unquoted(found[2])
    values.pop("", None)
    return values


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _values(head: str) -> Mapping[str, object]:
    # Imported late: it takes 20 ms, and most sessions have nothing for it.
    import yaml

    # PyYAML's own parser takes seconds for a few thousand brackets; libyaml, which its wheels hold, milliseconds.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if loader is yaml.SafeLoader and len(head) > MOST_CHARS_SLOW:
        raise _too_long(MOST_CHARS_SLOW)
    try:
        for token in yaml.scan(head, Loader=loader):
            if isinstance(token, (yaml.AnchorToken, yaml.AliasToken)):
                raise FrontMatterError("anchors and aliases (& and *) are not read; quote a value that begins so", 0)
        # A safe loader: plain values only.
        found: Any = yaml.load(head, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark else 0
        raise FrontMatterError(f"this is no YAML: {error.problem}{_advice(head, line)}", line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise FrontMatterError(f"this is no YAML: {' '.join(str(error).split())}", 0) from None
    except RecursionError:
        raise FrontMatterError("the front matter is nested too deeply", 0) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise FrontMatterError("the front matter has to be lines of `name: value`", 2)
    return {str(key): value for key, value in cast(dict[Any, object], found).items()}


def _advice(head: str, line: int) -> str:
    """A remedy for the commonest slip: a colon in a value that is not quoted."""
    lines = head.split("\n")
    text = lines[line - 2] if 2 <= line < len(lines) + 2 else ""
    return '; put the value in quotes ("...")' if text.count(": ") > 1 else ""
