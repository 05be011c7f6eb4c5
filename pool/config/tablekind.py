"""Tables by name, each with fields of its own, as `[hooks.NAME]` and `[diagnostics.servers.NAME]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from pool.config.kinds import Kind, Texts

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
"""Names of such tables: they stand in events, in messages and in results."""


class NamedTables(Kind):
    """Tables by name. fields are what one may hold, needed what it must; what completes "a table of ...".

    Values that are texts or numbers are kept as the field's kind reads them, lists as lists.
    """

    def __init__(self, what: str, example: str, fields: Mapping[str, Kind], needed: tuple[str, ...]) -> None:
        self.what, self.example, self.fields, self.needed = what, example, fields, needed

    @property
    def words(self) -> str:
        return f"a table of {self.what}, as {self.example}"

    @property
    def textual(self) -> bool:
        return False

    def read(self, value: object) -> dict[str, dict[str, Any]]:
        if not isinstance(value, Mapping):
            raise self._no()
        return {name: self._one(name, one) for name, one in cast(Mapping[str, object], value).items()}

    def _one(self, name: str, value: object) -> dict[str, Any]:
        if not NAME.fullmatch(name):
            raise ValueError(f"{self.words}; {name!r} is no name: letters, digits, `_`, `-`, `.`, at most 40")
        if not isinstance(value, Mapping):
            raise self._no()
        given = cast(Mapping[str, object], value)
        if unknown := next((key for key in given if key not in self.fields), ""):
            raise ValueError(f"{self.words}; {name} has {unknown!r}, but there are only {', '.join(self.fields)}")
        if missing := next((key for key in self.needed if not given.get(key)), ""):
            raise ValueError(f"{self.words}; {name} lacks {missing}")
        return {key: self._field(name, key, one) for key, one in given.items()}

    def _field(self, name: str, key: str, value: object) -> object:
        try:
            read = self.fields[key].read(value)
        except ValueError as error:
            raise ValueError(f"{self.words}; {key} of {name} must be {error}") from None
        return list(cast(tuple[object, ...], read)) if isinstance(read, tuple) else read

    def schema(self) -> dict[str, Any]:
        inner = {key: kind.schema() for key, kind in self.fields.items()}
        for key in self.needed:
            inner[key] = {**inner[key], "minLength": 1} if inner[key].get("type") == "string" else inner[key]
        one: dict[str, Any] = {"type": "object", "properties": inner, "additionalProperties": False}
        names = {"pattern": f"^{NAME.pattern}$"}
        return {
            "type": "object",
            "propertyNames": names,
            "additionalProperties": {**one, "required": list(self.needed)},
        }


class Names(Kind):
    """A list of some of these names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    @property
    def words(self) -> str:
        return f"a list of {', '.join(self.names)}"

    @property
    def textual(self) -> bool:
        return False

    def read(self, value: object) -> tuple[str, ...]:
        try:
            texts = Texts().read(value)
        except ValueError:
            raise self._no() from None
        if any(text not in self.names for text in texts):
            raise self._no()
        return texts

    def parse(self, text: str) -> tuple[str, ...]:
        return self.read([text])

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"enum": list(self.names)}}
