"""Functions of a client that are no tools for files and commands: which of them a prompt asks for, and with what.

The rules compare words: those of a prompt with those of a function's name and description; values come from the prompt
by the type and the name of a parameter. A function that nothing in the prompt asks for is not called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pool.sim.say import Call

MOST_ENDING = 3
LEAST_STEM = 6
_WORD = re.compile(r"[a-z]{2,}")
_QUOTED = re.compile(r"[\"“]([^\"”]+)[\"”]")
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-]|\.\d)")
_SUM = re.compile(r"[(\d][\d.\s+\-*/()×]*[+\-*/×][\d.\s+\-*/()×]*[\d)]")
_NAMES = re.compile(
    r"(?:in|with|for|of) ((?:[A-Z][a-z]+)(?:(?:, | and |, and (?:in )?)[A-Z][a-z]+)*(?: and in [A-Z][a-z]+)*)"
)
_COMMON = frozenset(
    "a an and are as at be been by do does for from has have how i in into is it its many me more much not now of on "
    "or other such that the them then there this to tell use was what where which who will with you your".split()
)
_VERBS = frozenset("add ask convert count create delete find get list make read search set show".split())


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the client: name, description, and its parameters' schemas."""

    name: str
    about: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]

    @property
    def subject(self) -> frozenset[str]:
        """What its name says that it is about."""
        return _words(self.name.replace("_", " ")) - _VERBS

    @property
    def words(self) -> frozenset[str]:
        """What its name and description speak of."""
        return _words(f"{self.name.replace('_', ' ')} {self.about}")


def read_functions(tools: Sequence[Mapping[str, Any]]) -> list[Function]:
    """The functions of a request's `tools`."""
    found: list[Function] = []
    for tool in tools:
        told = cast("Mapping[str, Any]", tool.get("function") or {})
        schema = cast("Mapping[str, Any]", told.get("parameters") or {})
        properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {})
        required = tuple(cast("Sequence[str]", schema.get("required") or ()))
        found.append(Function(str(told.get("name")), str(told.get("description") or ""), properties, required))
    return found


def calls_for(prompt: str, functions: Sequence[Function], *, parallel: bool) -> tuple[Call, ...]:
    """The calls that a prompt asks for: of the best function, and of none if nothing fits."""
    asked = _words(prompt)
    ranked = sorted(functions, key=lambda function: -_common(asked, function.words))
    for function in ranked:
        calls = _filled(function, prompt) if _common(asked, function.subject) else ()
        if calls:
            return calls if parallel else calls[:1]
    return ()


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text.casefold()) if word not in _COMMON)


def _common(one: frozenset[str], two: frozenset[str]) -> int:
    return sum(any(_akin(word, other) for other in two) for word in one)


def _akin(one: str, two: str) -> bool:
    """Whether two words are one but for their ending: kilometre and kilometres, remind and reminded."""
    short, long = sorted((one, two), key=len)
    if len(short) <= MOST_ENDING:
        return short == long
    if long.startswith(short):
        return len(long) - len(short) <= MOST_ENDING
    return len(short) > LEAST_STEM and long[: len(short) - 2] == short[:-2]


def _filled(function: Function, prompt: str) -> tuple[Call, ...]:
    """Calls with all required values; several where the prompt gives several for the only text asked for."""
    texts = [name for name in function.required if _is_text(function.properties[name])]
    names = _proper_names(prompt)
    if len(function.required) == 1 and texts and len(names) > 1 and _kind(texts[0]) == "":
        return tuple(Call(function.name, {texts[0]: name}) for name in names)
    values: dict[str, Any] = {}
    numbers = [match[0] for match in _NUMBER.finditer(_QUOTED.sub("", prompt))]
    for name, schema in function.properties.items():
        value = _value(name, schema, prompt, numbers)
        if value is not None:
            values[name] = value
        elif name in function.required:
            return ()
    return (Call(function.name, values),)


def _value(name: str, schema: Mapping[str, Any], prompt: str, numbers: list[str]) -> Any:
    """A value for a parameter, None if the prompt has none. A number is used once."""
    if "enum" in schema:
        return _choice(name, cast("Sequence[str]", schema["enum"]), prompt)
    match schema.get("type"):
        case "integer":
            return next((int(number) for number in numbers if "." not in number), None)
        case "number":
            return float(numbers.pop(0)) if numbers else None
        case "boolean":
            return True if _common(_words(name.replace("_", " ")), _words(prompt)) else None
        case "array":
            return _proper_names(prompt) or None
        case _:
            return _text(name, prompt)


def _is_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and "enum" not in schema


def _kind(name: str) -> str:
    """What sort of text a parameter takes, by its name; "" for a name of a place or a person."""
    for kind, names in {"sum": ("expression",), "day": ("day", "date"), "words": ("title", "text", "query")}.items():
        if name in names:
            return kind
    return ""


def _text(name: str, prompt: str) -> str | None:
    match _kind(name):
        case "sum":
            found = _SUM.search(prompt)
            return found[0].replace("×", "*") if found else None
        case "day":
            found = _DAY.search(prompt)
            return found[0] if found else None
        case "words":
            found = _QUOTED.search(prompt)
            return found[1] if found else None
        case _:
            return next(iter(_proper_names(prompt)), None)


def _choice(name: str, choices: Sequence[str], prompt: str) -> str | None:
    """A choice that the prompt names. `to` is what is asked for, `from` stands behind a number."""
    named = [choice for choice in choices if any(_akin(choice, word) for word in _WORD.findall(prompt.casefold()))]
    if len(named) > 1:
        numbered = [choice for choice in named if re.search(rf"\d\s+{choice}", prompt, re.IGNORECASE)]
        others = [choice for choice in named if choice not in numbered]
        named = (numbered if name.startswith("from") else others) or named
    return named[0] if named else None


def _proper_names(prompt: str) -> list[str]:
    found = _NAMES.search(_QUOTED.sub("", prompt))
    return re.findall(r"[A-Z][a-z]+", found[1]) if found else []
