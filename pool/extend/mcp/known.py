"""A tool that an MCP server offers, under the name that the model calls it by."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pool.messages import valid_text
from pool.wire.tokens import raw_tokens
from pool_tools.frozen import frozen

PREFIX = "mcp__"
"""How the names begin: `mcp__SERVER__TOOL`."""

SEPARATOR = "__"

NAME_CHARS = 64
"""Longest name of a tool that model servers take; OpenAI's limit."""

DESCRIPTION_CHARS = 4_000
SCHEMA_CHARS = 20_000
"""A longer description is cut; the parameters of a tool with a longer schema are not told."""

_SERVER_CHARS = 24
_MARK_CHARS = 4
_UNUSUAL = re.compile(r"[^A-Za-z0-9_-]")


@frozen
class KnownTool:
    """name is what the model calls, original what the server does. parameters is a JSON schema of type object.

    reads: the server says that it only reads; nothing is decided by that.
    """

    server: str
    name: str
    original: str
    description: str
    parameters: Mapping[str, Any]
    reads: bool = False

    @property
    def tokens(self) -> float:
        """About what it takes of the window where it is listed."""
        return raw_tokens(json.dumps([self.name, self.description, self.parameters], ensure_ascii=False).encode())


def known_tools(server: str, listed: Iterable[tuple[str, str, object, bool]]) -> tuple[KnownTool, ...]:
    """Tools as a server lists them: name, description, schema, whether it only reads. Equal names count once."""
    found: dict[str, KnownTool] = {}
    for original, description, schema, reads in listed:
        name = tool_name(server, original)
        text = valid_text(description)[:DESCRIPTION_CHARS]
        found.setdefault(name, KnownTool(server, name, original, text, _object_schema(schema), reads))
    return tuple(found.values())


def server_prefix(server: str) -> str:
    """How the names of a server's tools begin; no other server's do, as long as their names differ."""
    plain = re.sub(r"_{2,}", "_", _UNUSUAL.sub("_", server)).strip("_")
    return f"{PREFIX}{_marked(plain or 'server', server, _SERVER_CHARS)}{SEPARATOR}"


def tool_name(server: str, original: str) -> str:
    """The name for the model: letters, digits, `_` and `-`. Where that changes or cuts it, a hash is added."""
    prefix = server_prefix(server)
    return prefix + _marked(_UNUSUAL.sub("_", original) or "tool", original, NAME_CHARS - len(prefix))


def _marked(plain: str, original: str, most: int) -> str:
    if plain == original and len(plain) <= most:
        return plain
    mark = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
    return f"{plain[: most - _MARK_CHARS - 1]}_{mark}"


def _object_schema(schema: object) -> Mapping[str, Any]:
    try:
        if isinstance(schema, dict) and len(text := json.dumps(schema)) <= SCHEMA_CHARS:
            # Through text and back: what goes into a request is plain JSON with valid characters.
            plain = cast(dict[str, Any], json.loads(valid_text(text)))
            if plain.get("type") == "object" and isinstance(plain.get("properties", {}), dict):
                return plain
    except (TypeError, ValueError, RecursionError):
        pass
    return {"type": "object"}
