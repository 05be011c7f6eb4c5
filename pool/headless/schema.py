"""`pool schema`: the JSON Schema of what `pool run` prints and takes, and the tables of it for the documentation.

Both are made from the dataclasses themselves, so that neither can fall behind.
"""

from __future__ import annotations

import argparse
import json
import sys
import types
import typing
from collections.abc import Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from pool import events
from pool.agent.result import RESULT_TYPE, RESULT_VERSION, RunResult
from pool.events import Body, Envelope
from pool.headless.inputs import INPUTS
from pool.headless.output import LOG_ONLY

EXIT_USAGE = 2
DRAFT = "https://json-schema.org/draft/2020-12/schema"
BEGIN, END = "<!-- events: begin -->\n", "<!-- events: end -->\n"
Schema = dict[str, Any]

_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Any: {},
    types.NoneType: {"type": "null"},
}
_ENVELOPE_OPTIONAL = ("agent", "call")
"""Keys of the envelope that are left out where they would be empty."""


def kinds() -> dict[str, type[Body]]:
    """Every kind of event by its type, in the order of `pool.events`."""
    found = [v for v in vars(events).values() if isinstance(v, type) and issubclass(v, Body) and v.type]
    return {kind.type: kind for kind in found}


def printed_kinds() -> dict[str, type[Body]]:
    """The kinds that `-o stream-json` prints."""
    return {name: kind for name, kind in kinds().items() if not issubclass(kind, LOG_ONLY)}


def schema(*, strict: bool = False) -> Schema:
    """The JSON Schema (draft 2020-12) of an event, a result or an input line.

    strict refuses fields that are not described; the published one lets them be, since later versions may add some.
    """
    maker = _Maker(strict)
    named = {name: maker.event(kind) for name, kind in kinds().items()}
    named[RESULT_TYPE] = maker.result()
    inputs = {f"input.{name}": maker.record(kind, {"type": {"const": name}}) for name, kind in INPUTS.items()}
    return {
        "$schema": DRAFT,
        "title": "What pool run prints and takes",
        "description": "#/$defs/event: a line of -o stream-json. #/$defs/result: the object of -o json. "
        "#/$defs/input: a line of -i stream-json.",
        "oneOf": [{"$ref": "#/$defs/event"}, {"$ref": "#/$defs/result"}],
        "$defs": {
            "event": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in named if name != RESULT_TYPE]},
            "result": {"$ref": f"#/$defs/{RESULT_TYPE}"},
            "input": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in inputs]},
            **named,
            **inputs,
            **maker.shared,
        },
    }


class _Maker:
    """Turns dataclasses into schemas; those inside of others are shared."""

    def __init__(self, strict: bool) -> None:
        self.shared: dict[str, Schema] = {}
        self._strict = strict

    def event(self, kind: type[Body]) -> Schema:
        made = self.record(Envelope, {"type": {"const": kind.type}, "v": {"const": events.SCHEMA_VERSION}})
        body = self.record(kind)
        made["description"] = _words(kind)
        made["properties"] |= body["properties"]
        wanted = ["type", *made["properties"]]
        made["required"] = [name for name in dict.fromkeys(wanted) if name not in _ENVELOPE_OPTIONAL]
        return made

    def result(self) -> Schema:
        return self.record(RunResult, {"type": {"const": RESULT_TYPE}, "v": {"const": RESULT_VERSION}}, whole=True)

    def record(self, kind: type, first: Schema | None = None, *, whole: bool = False) -> Schema:
        """A dataclass as an object, with fields before its own. whole: what has a default is always there too."""
        hints = typing.get_type_hints(kind)
        properties: Schema = dict(first or {})
        required = list(first or {})
        for each in fields(kind):
            name = each.name.rstrip("_")
            properties.setdefault(name, self.of(hints[each.name]))
            if whole or (each.default is MISSING and each.default_factory is MISSING):
                required.append(name)
        out: Schema = {"description": _words(kind), "type": "object", "properties": properties}
        out["required"] = list(dict.fromkeys(required))
        if self._strict:
            out["additionalProperties"] = False
        return out

    def of(self, hint: Any) -> Schema:
        """The schema of a type."""
        if (simple := _SIMPLE.get(hint)) is not None:
            return dict(simple)
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is tuple:
            return {"type": "array", "items": self.of(args[0])}
        if origin is dict:
            return {"type": "object"}
        if origin in (types.UnionType, typing.Union):
            return {"anyOf": [self.of(arg) for arg in args]}
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            return {"enum": [member.value for member in hint]}
        assert isinstance(hint, type), hint
        inner: type = hint
        if inner.__name__ not in self.shared:
            self.shared[inner.__name__] = {}
            self.shared[inner.__name__] = self.record(inner, whole=True)
        return {"$ref": f"#/$defs/{inner.__name__}"}


def _words(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split())


def tables() -> str:
    """All events, then all input lines, as Markdown: type, fields, meaning."""
    lines = ["| `type` | fields beside the envelope | meaning |", "|---|---|---|"]
    for name, kind in printed_kinds().items():
        lines.append(_row(f"`{name}`{' †' if kind.transient else ''}", kind))
    lines += ["", "Lines of `-i stream-json`:", "", "| `type` | fields | does |", "|---|---|---|"]
    lines += [_row(f"`{name}`", kind) for name, kind in INPUTS.items()]
    return "\n".join(lines) + "\n"


def _row(first: str, kind: type) -> str:
    names = ", ".join(f"`{each.name.rstrip('_')}`" for each in fields(kind)) or "-"
    return f"| {first} | {names} | {_words(kind).replace('|', '/')} |"


def placed(text: str, name: str) -> str:
    """A text with the tables between its marks. Raises ValueError for a text without them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{name} has no lines {BEGIN.strip()} and {END.strip()}, between which the tables would go")
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def parser() -> argparse.ArgumentParser:
    """The flags of `pool schema`."""
    p = argparse.ArgumentParser(
        prog="pool schema", description="Print the JSON Schema of what pool run prints (-o) and takes (-i stream-json)."
    )
    p.add_argument("--tables", action="store_true", help="tables in Markdown instead")
    p.add_argument("--into", metavar="FILE", help="write FILE; with --tables, put them between its marks")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool schema`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    text = tables() if args.tables else json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    if not args.into:
        sys.stdout.write(text)
        return 0
    path = Path(args.into)
    try:
        path.write_text(placed(path.read_text("utf-8"), args.into) if args.tables else text, encoding="utf-8")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"pool schema: {error}\n")
        return EXIT_USAGE
    return 0
