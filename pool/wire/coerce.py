"""Makes a call's arguments fit the tool's JSON schema, as far as that is safe, and says in words what does not fit.

Local models send numbers, booleans and lists as strings, rename arguments and fill optional ones with null (CALL-12,
CALL-23 of the fault collection). What is mended is the form only: a string given for a string parameter is never
changed, nothing is invented, and a required argument that is missing is a problem for the model to solve.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pool.wire.aliases import argument_key, clean_name
from pool.wire.convert import UNFIT, as_type, literal, type_of
from pool.wire.jsontext import as_mapping, canonical
from pool_tools.frozen import frozen

__all__ = ["Coerced", "allowed_types", "clean_name", "coerce", "literal"]

MAX_REFERENCES = 16
"""Hops through `$ref` before a schema is taken as allowing anything."""

SHOWN_CHARS = 60
"""How much of an unfitting value a problem shows."""

_ARTICLE = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


@frozen
class Coerced:
    """Arguments in the schema's form.

    problems are sentences for the model; only without any may the call run. changes say what was altered, for people
    and logs.
    """

    arguments: dict[str, Any]
    problems: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


def coerce(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Coerced:
    """Fit arguments to a JSON schema of type object. Never raises; key order is kept."""
    fit = _Fit(schema)
    result = fit.members(arguments, schema, "")
    return Coerced(result, tuple(fit.problems), tuple(fit.changes))


def allowed_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """JSON type names that a schema admits, through `anyOf` and `oneOf`; empty if it does not say."""
    own = schema.get("type")
    names = {own} if isinstance(own, str) else {name for name in _list(own) if isinstance(name, str)}
    for alternative in _alternatives(schema):
        names |= allowed_types(alternative)
    return frozenset(names)


@dataclass(slots=True)
class _Fit:
    """One run of fitting; collects problems and changes."""

    root: Mapping[str, Any]
    problems: list[str] = field(default_factory=list[str])
    changes: list[str] = field(default_factory=list[str])

    def members(self, given: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Fit the members of an object."""
        properties = as_mapping(schema.get("properties")) or {}
        required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
        result: dict[str, Any] = {}
        for name, value in given.items():
            target = argument_key(name, properties, taken=given.keys() | result.keys())
            if target is None:
                self._unknown(name, value, schema, properties, where, result)
                continue
            if target != name:
                self.changes.append(f"{where}{name} was taken as {target}")
            member = self._resolved(properties[target])
            if value is None and target not in required and "null" not in allowed_types(member):
                self.changes.append(f"{where}{target} was null and is left out")
                continue
            result[target] = self.value(value, member, f"{where}{target}")
        self._check_missing(result, required, properties, where)
        return result

    def value(self, value: Any, schema: Mapping[str, Any], where: str) -> Any:
        """Fit one value to its (resolved) schema."""
        alternatives = [self._resolved(one) for one in _alternatives(schema)]
        if alternatives:
            return self._one_of(value, alternatives, where)
        types = allowed_types(schema)
        fitted = as_type(value, types)
        if fitted is UNFIT:
            self.problems.append(f'The argument "{where}" must be {_names(types)}, but {_shown(value)} was given.')
            return value
        if fitted is not value:
            self.changes.append(f"{where} was given as {type_of(value)}")
        match fitted:
            case dict():
                fitted = self._object(cast("dict[str, Any]", fitted), schema, where)
            case list():
                item_schema = self._resolved(schema.get("items"))
                items = cast("list[Any]", fitted)
                fitted = [self.value(item, item_schema, f"{where}[{at}]") for at, item in enumerate(items)]
            case _:
                pass
        self._check_limits(fitted, schema, where)
        return fitted

    def _object(self, value: dict[str, Any], schema: Mapping[str, Any], where: str) -> dict[str, Any]:
        if as_mapping(schema.get("properties")) is None:
            return value
        return self.members(value, schema, f"{where}.")

    def _one_of(self, value: Any, alternatives: Sequence[Mapping[str, Any]], where: str) -> Any:
        """The first alternative that takes the value as it is, else the first that takes it at all."""
        tries: list[tuple[Any, _Fit]] = []
        for schema in alternatives:
            attempt = _Fit(self.root)
            tries.append((attempt.value(value, schema, where), attempt))
        good = [one for one in tries if not one[1].problems]
        unchanged = [one for one in good if not one[1].changes]
        result, attempt = (unchanged or good or tries)[0]
        if good or len(alternatives) == 1:
            self.problems += attempt.problems
            self.changes += attempt.changes
            return result
        types = frozenset[str]().union(*(allowed_types(schema) for schema in alternatives))
        self.problems.append(f'The argument "{where}" must be {_names(types)}, but {_shown(value)} was given.')
        return value

    def _unknown(
        self,
        name: str,
        value: Any,
        schema: Mapping[str, Any],
        properties: Mapping[str, Any],
        where: str,
        result: dict[str, Any],
    ) -> None:
        """A key that the schema does not name: kept only where the schema is open on purpose."""
        extra = schema.get("additionalProperties")
        undeclared = extra is None and not properties
        if undeclared or extra is True or as_mapping(extra) is not None or schema.get("patternProperties"):
            result[name] = self.value(value, self._resolved(extra), f"{where}{name}")
            return
        self.changes.append(f"{where}{name} is not an argument of this tool and is left out")

    def _check_missing(
        self, result: Mapping[str, Any], required: Sequence[str], properties: Mapping[str, Any], where: str
    ) -> None:
        for name in required:
            if name in result:
                continue
            types = allowed_types(self._resolved(properties.get(name)))
            kind = f" ({' or '.join(sorted(types))})" if types else ""
            self.problems.append(f'The required argument "{where}{name}"{kind} is missing.')

    def _check_limits(self, value: Any, schema: Mapping[str, Any], where: str) -> None:
        allowed = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
        if allowed and not any(canonical(value) == canonical(one) for one in allowed):
            choices = ", ".join(canonical(one) for one in allowed)
            self.problems.append(f'The argument "{where}" must be one of {choices}, but {_shown(value)} was given.')
            return
        kind = type_of(value)
        size = len(value) if kind in ("string", "array") else value
        for key, holds, words in _LIMITS.get(kind, ()):
            limit = schema.get(key)
            if _is_number(limit) and not holds(size, limit):
                must = words.format(limit)
                self.problems.append(f'The argument "{where}" must {must}, but {_shown(value)} was given.')

    def _resolved(self, schema: object) -> Mapping[str, Any]:
        """The schema behind local references (`#/$defs/Name`); one that cannot be followed allows anything."""
        for _ in range(MAX_REFERENCES):
            mapping = as_mapping(schema)
            if mapping is None:
                return {}
            reference = mapping.get("$ref")
            if not isinstance(reference, str):
                return mapping
            schema = self._referenced(reference)
        return {}

    def _referenced(self, reference: str) -> object:
        if not reference.startswith("#/"):
            return None
        at: object = self.root
        for part in reference[2:].split("/"):
            level = as_mapping(at)
            at = None if level is None else level.get(part.replace("~1", "/").replace("~0", "~"))
        return at


_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minimum", operator.ge, "be at least {}"),
    ("maximum", operator.le, "be at most {}"),
    ("exclusiveMinimum", operator.gt, "be more than {}"),
    ("exclusiveMaximum", operator.lt, "be less than {}"),
)
_LIMITS: dict[str, tuple[tuple[str, Callable[[Any, Any], bool], str], ...]] = {
    "integer": _BOUNDS,
    "number": _BOUNDS,
    "string": (
        ("minLength", operator.ge, "be at least {} characters long"),
        ("maxLength", operator.le, "be at most {} characters long"),
    ),
    "array": (
        ("minItems", operator.ge, "have at least {} items"),
        ("maxItems", operator.le, "have at most {} items"),
    ),
}


def _alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Schemas of which one must hold. `allOf` counts where it wraps a single schema, as Pydantic writes it."""
    every = _list(schema.get("allOf"))
    found = _list(schema.get("anyOf")) or _list(schema.get("oneOf")) or (every if len(every) == 1 else [])
    return [mapping for mapping in map(as_mapping, found) if mapping is not None]


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names(types: frozenset[str]) -> str:
    return " or ".join(_ARTICLE.get(name, name) for name in sorted(types)) or "of the declared type"


def _shown(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
