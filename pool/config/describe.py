"""The keys described: as JSON Schema for editors, as Markdown for people, and single values as TOML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pool.config.keys import TRUST_WORDS, Key, keys, tables
from pool.config.kinds import Choice, Kind, Number, ScalarTable, Switch, TextTable, Thinking
from pool.config.merge import defaults
from pool.config.profiles import BUILT_IN_PROFILES

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
HIDDEN = "<hidden>"


def schema() -> dict[str, Any]:
    """All that a configuration file may hold, as JSON Schema."""
    plain = _object(keys().values())
    within: dict[str, Any] = {**plain, "properties": {k: v for k, v in plain["properties"].items() if k != "profile"}}
    return {
        "$schema": SCHEMA_ID,
        "title": "Pool's configuration",
        "$defs": {"values": within},
        **plain,
        "properties": {
            **plain["properties"],
            "profiles": {
                "description": "Profiles by name: the same keys, laid over the rest where the profile is chosen.",
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/values"},
            },
            "locked": {
                "description": "In /etc/pool/config.toml: the widest values that anybody may have.",
                "$ref": "#/$defs/values",
            },
        },
    }


def _object(some: Iterable[Key]) -> dict[str, Any]:
    root: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    for key in some:
        at = root
        *above, leaf = key.name.split(".")
        for depth, part in enumerate(above):
            about = tables().get(".".join(above[: depth + 1]), "")
            empty: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
            at = at["properties"].setdefault(part, {"description": about, **empty})
        default = defaults()[key.name]
        shown = {"default": _jsonable(default)} if default not in (None, "", ()) else {}
        at["properties"][leaf] = {"description": key.doc.replace("`", ""), **key.kind.schema(), **shown}
    return root


def _jsonable(value: object) -> object:
    return list(cast(tuple[object, ...], value)) if isinstance(value, tuple) else value


def reference() -> str:
    """All keys as Markdown, table by table."""
    out: list[str] = []
    for table, about in tables().items():
        some = [key for key in keys().values() if key.table == table]
        out += [f"### `[{table}]`" if table else "### Outside of any table", ""]
        out += [about, ""] if about else []
        out += ["| key | values | default | variable, flag | a checkout |", "|---|---|---|---|---|"]
        for key in some:
            ways = [f"`{name}`" for name in (*key.environment, *([key.flag] if key.flag else []))]
            cells = (_leaf(key), _words(key.kind), _default(key), ", ".join(ways), TRUST_WORDS[key.trust])
            out.append("| " + " | ".join(cells) + " |")
        out += ["", *(f"- `{_leaf_name(key)}`: {key.doc}" for key in some), ""]
    out += ["### Profiles that come with Pool", "", "| key | " + " | ".join(BUILT_IN_PROFILES) + " |"]
    out.append("|---|" + "---|" * len(BUILT_IN_PROFILES))
    named = list(dict.fromkeys(name for values in BUILT_IN_PROFILES.values() for name in values))
    for name in named:
        cells = [toml(values[name]) if name in values else "" for values in BUILT_IN_PROFILES.values()]
        out.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def _leaf_name(key: Key) -> str:
    return key.name.rpartition(".")[2]


def _leaf(key: Key) -> str:
    return f"`{_leaf_name(key)}`"


def _words(kind: Kind) -> str:
    match kind:
        case Choice(names=names):
            return ", ".join(f"`{name}`" for name in names)
        case Thinking(levels=levels):
            return ", ".join(f"`{name}`" for name in ("off", *levels, "on")) + ", a number"
        case Switch():
            return "`true`, `false`"
        case Number():
            return kind.words
        case _:
            return kind.words.partition(", as ")[0]


def _default(key: Key) -> str:
    value = defaults()[key.name]
    return "" if value in (None, "", ()) or value == {} else f"`{toml(value)}`"


def toml(value: object, kind: Kind | None = None) -> str:
    """A value of the settings as TOML. None is `"server"`: only values that the server may choose can be None."""
    match value:
        case None:
            return '"server"'
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case str():
            return _text(value)
        case dict():
            return _table(cast(Mapping[str, object], value).items())
        case tuple() if isinstance(kind, TextTable | ScalarTable) or _are_pairs(cast(tuple[object, ...], value)):
            return _table(cast(tuple[tuple[str, object], ...], value))
        case _:
            return "[" + ", ".join(toml(x) for x in cast(Iterable[object], value)) + "]"


def _are_pairs(items: tuple[object, ...]) -> bool:
    return bool(items) and all(isinstance(x, tuple) for x in items)


def _table(items: Iterable[tuple[str, object]]) -> str:
    inner = ", ".join(f"{_name(name)} = {toml(value)}" for name, value in items)
    return f"{{ {inner} }}" if inner else "{}"


def _name(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _text(name)


def _text(text: str) -> str:
    """A TOML string. JSON's form is one too, but for characters that JSON leaves raw and TOML does not."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else _escaped(ord(c)) for c in quoted)


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
