"""The form of a final answer: a JSON Schema that it has to fit, asked for, checked, and asked for once more.

Where the server can constrain a reply to a schema, the second reply is constrained; the first one never is, since until
the answer the model has to be free to think and to call tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pool.agent.closing import gave_up
from pool.agent.guards import Guard
from pool.agent.state import Nudge, RunState, Steer, Stop, Verdict
from pool.config.settings import SettingsError
from pool.events import StopReason
from pool.wire.reading import Ending, Reading

MOST_SCHEMA_BYTES = 256 * 1024
MOST_FAULTS = 5
"""So many of an answer's faults are told to the model."""

FAULT_CHARS = 300

_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL | re.IGNORECASE)


class AnswerForm:
    """A schema, and what is done with it."""

    def __init__(self, schema: Mapping[str, Any] | bool, name: str = "the schema") -> None:
        """Raises `SettingsError` for what is no JSON Schema, or refers to one that is not in it."""
        from jsonschema import SchemaError
        from jsonschema.validators import validator_for  # pyright: ignore[reportUnknownVariableType]
        from referencing import Registry

        self.schema = schema
        kind: Any = validator_for(schema)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise SettingsError(f"{name} is no JSON Schema: {_line(error.message)} at {error.json_path}") from None
        outside = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
        if outside is not None:
            raise SettingsError(f"{name} refers to {outside!r}; nothing is fetched, so put it in below $defs")
        # A registry of its own, since the usual one fetches what it does not know.
        nothing = Registry()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] its stubs say no more
        self._validator: Any = kind(schema, registry=nothing)

    @classmethod
    def read(cls, path: Path) -> AnswerForm:
        """The form that a file holds. Raises `SettingsError`."""
        try:
            data = path.read_bytes()[: MOST_SCHEMA_BYTES + 1]
        except OSError as error:
            raise SettingsError(f"--output-schema {str(path)!r} cannot be read: {error.strerror}") from None
        if len(data) > MOST_SCHEMA_BYTES:
            raise SettingsError(f"--output-schema {str(path)!r} has more than {MOST_SCHEMA_BYTES:,} bytes")
        try:
            schema: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise SettingsError(f"--output-schema {str(path)!r} is no JSON: {error}") from None
        if not isinstance(schema, (dict, bool)):
            raise SettingsError(f"--output-schema {str(path)!r} is no JSON Schema: it is no object")
        return cls(cast("dict[str, Any] | bool", schema), f"--output-schema {str(path)!r}")

    def asked(self, prompt: str) -> str:
        """A prompt with the words that ask for the form."""
        text = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return (
            f"{prompt}\n\n[Pool] Your last message has to be one JSON value that fits the JSON Schema below, with no "
            f"other words and no code fence. Until then use tools and words as you need them.\n{text}"
        )

    def value(self, answer: str) -> Any:
        """The value that an answer holds. Raises ValueError, which says what is wrong with it."""
        try:
            value = _parsed(answer)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is not one JSON value: {error}") from None
        from referencing.exceptions import Unresolvable

        try:
            faults = [f"{e.json_path}: {_line(e.message)}" for e in self._validator.iter_errors(value)]
        except (Unresolvable, RecursionError) as error:
            raise ValueError(f"the schema cannot be applied: {_line(str(error))}") from None
        if faults:
            more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
            raise ValueError("; ".join(faults[:MOST_FAULTS]) + more)
        return value


class FormGuard(Guard):
    """Checks the final answer against its form; tells the model once, then ends the run as unusable.

    An answer that says that it could not be done is let through: the run then ends for that reason.
    """

    name = "output-schema"

    def __init__(self, form: AnswerForm) -> None:
        self._form = form
        self._told = False

    def after_reply(self, run: RunState, reading: Reading) -> Verdict | None:
        if reading.ending is not Ending.WHOLE or reading.calls or reading.broken or gave_up(reading.content):
            return None
        try:
            self._form.value(reading.content)
        except ValueError as error:
            if self._told:
                return Stop(StopReason.UNUSABLE_REPLY, f"the answer does not fit the schema: {error}")
            self._told = True
            text = f"[Pool] Your answer does not fit the JSON Schema: {error}. Send it again: the JSON value alone."
            return Nudge(text, f"the answer does not fit the schema: {error}", Steer(form=self._form.schema))
        return None


def _parsed(answer: str) -> Any:
    text = answer.strip()
    fenced = _FENCE.match(text)
    return json.loads(fenced[1] if fenced else text, parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= FAULT_CHARS else f"{line[:FAULT_CHARS]}..."


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            if key in ("$ref", "$dynamicRef") and isinstance(item, str):
                yield item
            else:
                yield from _references(item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _references(item)
