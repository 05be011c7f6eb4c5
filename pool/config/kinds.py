"""Kinds of values that a setting can have: what is taken from TOML, from text, and how it is described.

`read` takes a value as TOML gives it, `parse` takes text (a variable, `pool config set`). Both return what settings
hold and raise ValueError with words that complete "must be ...".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, cast
from urllib.parse import urlsplit

from pool_tools.frozen import frozen

MOST_DIGITS = 12
"""Longest whole number that is taken: no limit of Pool needs more."""


class Kind:
    """A kind of value. words complete "must be ..."."""

    @property
    def words(self) -> str:
        """What the value must be."""
        raise NotImplementedError

    def read(self, value: object) -> object:
        """The value as settings hold it. Raises ValueError."""
        raise NotImplementedError

    def parse(self, text: str) -> object:
        """The value that text stands for. Raises ValueError."""
        return self.read(text)

    def schema(self) -> dict[str, Any]:
        """The kind as JSON Schema."""
        raise NotImplementedError

    @property
    def textual(self) -> bool:
        """Whether one variable of the environment can hold it."""
        return True

    def _no(self) -> ValueError:
        return ValueError(self.words)


@frozen
class Switch(Kind):
    """True or false."""

    @property
    def words(self) -> str:
        return "true or false"

    def read(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise self._no()
        return value

    def parse(self, text: str) -> bool:
        match text.strip().lower():
            case "true" | "on" | "yes" | "1":
                return True
            case "false" | "off" | "no" | "0":
                return False
            case _:
                raise self._no()

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@frozen
class Count(Kind):
    """A whole number from least on."""

    least: int = 0

    @property
    def words(self) -> str:
        return f"a whole number from {self.least} on"

    def read(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value < 10**MOST_DIGITS:
            raise self._no()
        return value

    def parse(self, text: str) -> int:
        text = text.strip().replace("_", "")
        if not (text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS):
            raise self._no()
        return self.read(int(text))

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "exclusiveMaximum": 10**MOST_DIGITS}


@frozen
class Number(Kind):
    """A number between least and most; server: the word "server" stands for None, the server's own value."""

    least: float = 0.0
    most: float = 10.0**MOST_DIGITS
    server: bool = False

    @property
    def words(self) -> str:
        most = f" to {self.most:g}" if self.most < 10.0**MOST_DIGITS else " on"
        return f"a number from {self.least:g}{most}" + (', or "server" for the server\'s own' if self.server else "")

    def read(self, value: object) -> float | None:
        if self.server and value == "server":
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._no()
        if not math.isfinite(value) or not self.least <= value <= self.most:
            raise self._no()
        return float(value)

    def parse(self, text: str) -> float | None:
        text = text.strip()
        if self.server and text == "server":
            return None
        try:
            return self.read(float(text))
        except ValueError:
            raise self._no() from None

    def schema(self) -> dict[str, Any]:
        number: dict[str, Any] = {"type": "number", "minimum": self.least, "maximum": self.most}
        return {"anyOf": [number, {"const": "server"}]} if self.server else number


@frozen
class WholeOrServer(Kind):
    """A whole number from 1 on, or "server" for None: the server's own value."""

    @property
    def words(self) -> str:
        return 'a whole number from 1 on, or "server" for the server\'s own'

    def read(self, value: object) -> int | None:
        if value == "server":
            return None
        try:
            return Count(1).read(value)
        except ValueError:
            raise self._no() from None

    def parse(self, text: str) -> int | None:
        return self.read(int(text) if text.strip().isdecimal() else text.strip())

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [Count(1).schema(), {"const": "server"}]}


@frozen
class Text(Kind):
    """A line of text, or any text if lines is set."""

    lines: bool = False

    @property
    def words(self) -> str:
        return "text in quotation marks"

    def read(self, value: object) -> str:
        if not isinstance(value, str):
            raise self._no()
        if not self.lines and any(c in value for c in "\0\r\n"):
            raise ValueError("text on one line")
        return value if self.lines else value.strip()

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


@frozen
class Choice(Kind):
    """One of some names, from the narrowest to the widest; aliases are other names for them."""

    names: tuple[str, ...]
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def words(self) -> str:
        return "one of " + ", ".join(self.names)

    def read(self, value: object) -> str:
        if not isinstance(value, str):
            raise self._no()
        name = value.strip().lower().replace("_", "-")
        name = self.aliases.get(name, name)
        if name not in self.names:
            raise self._no()
        return name

    def schema(self) -> dict[str, Any]:
        return {"enum": [*self.names, *self.aliases]}


@frozen
class Thinking(Kind):
    """A level of thinking as text: off, on, a level's name, or tokens a turn."""

    levels: Mapping[str, int]

    @property
    def words(self) -> str:
        return f"one of on, off, {', '.join(self.levels)}, or a number of tokens a turn"

    def read(self, value: object) -> str:
        if isinstance(value, bool):
            return "on" if value else "off"
        text = str(value).strip().lower() if isinstance(value, str | int) else ""
        if text in ("on", "off") or text in self.levels:
            return text
        if text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS - 3 and int(text):
            return text
        raise self._no()

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [{"enum": ["on", "off", *self.levels]}, {"type": "boolean"}, {"type": "integer", "minimum": 1}]
        }


@frozen
class Texts(Kind):
    """A list of texts; patterns: each is a regular expression."""

    patterns: bool = False

    @property
    def words(self) -> str:
        return "a list of " + ("regular expressions" if self.patterns else "texts") + ', as ["a", "b"]'

    @property
    def textual(self) -> bool:
        return False

    def read(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise self._no()
        items = cast(Sequence[object], value)
        texts = [x for x in items if isinstance(x, str) and x.strip()]
        if len(texts) != len(items):
            raise self._no()
        for text in texts if self.patterns else ():
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"{self.words}; {text!r} is none: {error}") from None
        return tuple(texts)

    def parse(self, text: str) -> tuple[str, ...]:
        return self.read([text])

    def schema(self) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "string", "format": "regex"} if self.patterns else {"type": "string"}
        return {"type": "array", "items": item}


@frozen
class TextTable(Kind):
    """A table of names and texts."""

    @property
    def words(self) -> str:
        return 'a table of texts, as { NAME = "value" }'

    @property
    def textual(self) -> bool:
        return False

    def read(self, value: object) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, Mapping):
            raise self._no()
        items = cast(Mapping[str, object], value)
        if not all(isinstance(x, str) and "\n" not in x and "\r" not in x for x in items.values()):
            raise self._no()
        return tuple((name, str(text)) for name, text in items.items())

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": "string"}}


@frozen
class KeyTable(Kind):
    """A table of names, each with a text or a list of texts; kept as lists."""

    @property
    def words(self) -> str:
        return 'a table of keys, as { fold = "ctrl+x", send = ["enter", "f5"] }'

    @property
    def textual(self) -> bool:
        return False

    def read(self, value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if not isinstance(value, Mapping):
            raise self._no()
        out: list[tuple[str, tuple[str, ...]]] = []
        for name, one in cast(Mapping[str, object], value).items():
            try:
                out.append((name, Texts().read([one] if isinstance(one, str) else one)))
            except ValueError:
                raise self._no() from None
        return tuple(out)

    def schema(self) -> dict[str, Any]:
        text = {"type": "string", "pattern": r"\S"}
        return {"type": "object", "additionalProperties": {"anyOf": [text, {"type": "array", "items": text}]}}


@frozen
class ScalarTable(Kind):
    """A table of names and single values; refused are names that may not be used."""

    refused: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        no = f" without {', '.join(sorted(self.refused))}, which Pool sets itself" if self.refused else ""
        return f"a table of numbers, texts and switches{no}"

    @property
    def textual(self) -> bool:
        return False

    def read(self, value: object) -> tuple[tuple[str, str | int | float | bool], ...]:
        if not isinstance(value, Mapping):
            raise self._no()
        items = cast(Mapping[str, object], value)
        out: list[tuple[str, str | int | float | bool]] = []
        for name, one in items.items():
            if name in self.refused or not isinstance(one, str | int | float | bool):
                raise self._no()
            if isinstance(one, float) and not math.isfinite(one):
                raise self._no()
            out.append((name, one))
        return tuple(out)

    def schema(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"type": ["string", "number", "boolean"]}
        names = {"propertyNames": {"not": {"enum": sorted(self.refused)}}} if self.refused else {}
        return {"type": "object", "additionalProperties": plain, **names}


_MCP_TEXTS = ("command", "url")
_ADDRESS = re.compile(r"https?://[^\s/]\S*")
_MCP_TRANSPORTS = ("stdio", "http", "sse")
_MCP_SWITCHES = ("sandbox", "disabled")
_MCP_TIMES = ("start_seconds", "call_seconds")


def _is_address(text: str) -> bool:
    """Whether a text is an address of HTTP; one that cannot be taken apart is none."""
    try:
        return _ADDRESS.fullmatch(text) is not None and bool(urlsplit(text).hostname)
    except ValueError:
        return False


@frozen
class McpServers(Kind):
    """MCP servers by name, each a table: command, args and env, or url and headers; transport where it is not clear.

    Also sandbox and disabled, and start_seconds and call_seconds.
    """

    @property
    def words(self) -> str:
        return 'a table of servers, each with command (and args, env) or url (and headers), as { command = "uvx" }'

    @property
    def textual(self) -> bool:
        return False

    def read(self, value: object) -> dict[str, dict[str, Any]]:
        if not isinstance(value, Mapping):
            raise self._no()
        return {name: self._one(one) for name, one in cast(Mapping[str, object], value).items()}

    def _one(self, value: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self._no()
        out: dict[str, Any] = {}
        for name, one in cast(Mapping[str, object], value).items():
            match name:
                case "command" if isinstance(one, str) and one.strip():
                    out[name] = one
                case "url" if isinstance(one, str) and _is_address(one):
                    out[name] = one
                case "transport" if one in _MCP_TRANSPORTS:
                    out[name] = one
                case "args":
                    if not isinstance(one, list) or not all(isinstance(x, str) for x in cast(list[object], one)):
                        raise self._no()
                    out[name] = [str(x) for x in cast(list[object], one)]
                case "env" | "headers":
                    out[name] = dict(TextTable().read(one))
                case "sandbox" | "disabled" if isinstance(one, bool):
                    out[name] = one
                case "start_seconds" | "call_seconds" if isinstance(one, int | float) and 0 <= one < math.inf:
                    out[name] = float(one)
                case _:
                    raise self._no()
        if ("command" in out) == ("url" in out):
            raise self._no()
        return out

    def schema(self) -> dict[str, Any]:
        text, table = {"type": "string", "minLength": 1}, TextTable().schema()
        fields: dict[str, Any] = {"command": text, "url": {"type": "string", "pattern": f"^{_ADDRESS.pattern}$"}}
        fields |= {"args": Texts().schema(), "env": table, "headers": table, "transport": {"enum": [*_MCP_TRANSPORTS]}}
        fields |= {
            **{name: Switch().schema() for name in _MCP_SWITCHES},
            **{name: Number().schema() for name in _MCP_TIMES},
        }
        one: dict[str, Any] = {"type": "object", "properties": fields, "additionalProperties": False}
        return {"type": "object", "additionalProperties": {**one, "oneOf": [{"required": [x]} for x in _MCP_TEXTS]}}
