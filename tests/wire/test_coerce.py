"""Arguments fitted to schemas, and names of tools and arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.coerce import clean_name, coerce, literal


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
ANY_LIST = {"type": "array"}
TEXT_LIST = {"type": "array", "items": TEXT}
OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("kind", "given_value", "value"),
    [
        (INTEGER, "20", 20),
        (INTEGER, " -3\n", -3),
        (INTEGER, "20.0", 20),
        (INTEGER, 20.0, 20),
        (NUMBER, "1.5", 1.5),
        (NUMBER, "1e3", 1000.0),
        (NUMBER, "7", 7),
        (BOOLEAN, "True", True),
        (BOOLEAN, "false", False),
        (TEXT_LIST, '["a","b"]', ["a", "b"]),
        (TEXT_LIST, "['a', 'b']", ["a", "b"]),
        (TEXT_LIST, [1, "b"], ["1", "b"]),
        ({"type": "array", "items": INTEGER}, '["1", 2.0]', [1, 2]),
        (OBJECT, '{"a": 1}', {"a": 1}),
        (OBJECT, "{'a': True, 'b': None}", {"a": True, "b": None}),
        (TEXT, 123, "123"),
        (TEXT, 1.5, "1.5"),
        (TEXT, True, "true"),
        (TEXT, ["x", 1], '["x", 1]'),
        (TEXT, {"é": None}, '{"é": null}'),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["integer", "null"]}, "None", None),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "5", 5),
        ({"anyOf": [TEXT_LIST, OBJECT]}, "{'a': 1}", {"a": 1}),
        ({"allOf": [INTEGER]}, "5", 5),
    ],
)
def test_call_12_the_form_is_mended(kind: dict[str, Any], given_value: Any, value: Any) -> None:
    done = coerce({"x": given_value}, schema("x", x=kind))
    assert done.problems == ()
    assert done.arguments == {"x": value}
    assert type(done.arguments["x"]) is type(value)
    assert len(done.changes) >= 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (TEXT, "123"),
        (TEXT, '["x"]'),
        (TEXT, " null "),
        (TEXT, ""),
        ({"type": ["string", "null"]}, "null"),
        ({"type": ["string", "integer"]}, "20"),
        ({"anyOf": [INTEGER, TEXT]}, "20"),
        ({"oneOf": [{"type": "null"}, TEXT]}, "True"),
        ({}, "20"),
        ({"type": ["integer", "null"]}, None),
        (NUMBER, 3),
        (True, [1, "a"]),
    ],
)
def test_what_fits_is_not_touched(kind: Any, value: Any) -> None:
    done = coerce({"x": value}, schema("x", x=kind))
    assert (done.arguments, done.problems, done.changes) == ({"x": value}, (), ())


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        (INTEGER, "soon", 'The argument "x" must be an integer, but "soon" was given.'),
        (INTEGER, 2.5, 'The argument "x" must be an integer, but 2.5 was given.'),
        (INTEGER, True, 'The argument "x" must be an integer, but true was given.'),
        (INTEGER, "", 'The argument "x" must be an integer, but "" was given.'),
        (NUMBER, "1e999", 'The argument "x" must be a number, but "1e999" was given.'),
        (BOOLEAN, "yes", 'The argument "x" must be true or false, but "yes" was given.'),
        (TEXT_LIST, "[1,2", 'The argument "x" must be a list, but "[1,2" was given.'),
        (TEXT, None, 'The argument "x" must be a string, but null was given.'),
        ({"type": ["integer", "null"]}, [], 'The argument "x" must be an integer or null, but [] was given.'),
        ({"anyOf": [INTEGER, TEXT_LIST]}, "a", 'The argument "x" must be a list or an integer, but "a" was given.'),
        ({"type": "string", "enum": ["a", "b"]}, "A", 'The argument "x" must be one of "a", "b", but "A" was given.'),
        ({"const": 1}, "1", 'The argument "x" must be one of 1, but "1" was given.'),
        ({**INTEGER, "minimum": 1}, "0", 'The argument "x" must be at least 1, but 0 was given.'),
        ({**INTEGER, "maximum": 9}, 10, 'The argument "x" must be at most 9, but 10 was given.'),
        ({**NUMBER, "exclusiveMinimum": 0}, 0, 'The argument "x" must be more than 0, but 0 was given.'),
        ({**NUMBER, "exclusiveMaximum": 1}, 1.0, 'The argument "x" must be less than 1, but 1.0 was given.'),
        ({**TEXT, "minLength": 1}, "", 'The argument "x" must be at least 1 characters long, but "" was given.'),
        ({**ANY_LIST, "maxItems": 1}, [1, 2], 'The argument "x" must have at most 1 items, but [1, 2] was given.'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(kind: dict[str, Any], value: Any, problem: str) -> None:
    assert coerce({"x": value}, schema("x", x=kind)).problems == (problem,)


def test_call_05_missing_required_argument_is_named_with_its_type() -> None:
    done = coerce({}, schema("path", "mode", path=TEXT, mode={"type": ["string", "null"]}))
    assert done.problems == (
        'The required argument "path" (string) is missing.',
        'The required argument "mode" (null or string) is missing.',
    )


def test_null_for_an_optional_argument_is_absence() -> None:
    done = coerce({"path": "a", "limit": None}, schema("path", path=TEXT, limit=INTEGER))
    assert (done.arguments, done.problems) == ({"path": "a"}, ())


def test_unknown_keys_are_left_out_and_noted() -> None:
    done = coerce({"path": "a", "why": "because"}, schema("path", path=TEXT))
    assert done.arguments == {"path": "a"}
    assert "why is not an argument" in done.changes[0]


@pytest.mark.parametrize("open_schema", [OBJECT, {}, {**schema(), "additionalProperties": True}])
def test_open_schemas_keep_unknown_keys(open_schema: dict[str, Any]) -> None:
    assert coerce({"any": [1]}, open_schema).arguments == {"any": [1]}


def test_typed_additional_properties() -> None:
    done = coerce({"a": "1"}, {"type": "object", "additionalProperties": INTEGER})
    assert done.arguments == {"a": 1}


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("filename", "path"),
        ("file_path", "path"),
        ("filePath", "path"),
        ("Path", "path"),
        ("cmd", "command"),
        ("old_string", "old_text"),
        ("oldText", "old_text"),
        ("new_str", "new_text"),
        ("query", "pattern"),
        ("regex", "pattern"),
        ("text", "content"),
        ("contents", "content"),
        ("all", "replace_all"),
        ("path", "file_path"),
    ],
)
def test_call_23_aliases_of_arguments(given_name: str, name: str) -> None:
    done = coerce({given_name: "x"}, schema(name, **{name: TEXT}))
    assert (done.arguments, done.problems) == ({name: "x"}, ())
    assert done.changes == (f"{given_name} was taken as {name}",)


def test_an_alias_never_takes_the_place_of_what_was_given() -> None:
    done = coerce({"file": "b", "path": "a"}, schema("path", path=TEXT))
    assert done.arguments == {"path": "a"}


def test_an_alias_that_is_an_argument_itself_stays() -> None:
    done = coerce({"query": "x"}, schema("pattern", pattern=TEXT, query=TEXT))
    assert done.arguments == {"query": "x"}
    assert len(done.problems) == 1


def test_an_alias_with_two_meanings_is_no_alias() -> None:
    done = coerce({"filename": "x"}, schema("path", path=TEXT, file=TEXT))
    assert done.arguments == {}


def test_nested_objects_and_lists() -> None:
    edit = schema("old_text", "new_text", old_text=TEXT, new_text=TEXT, count=INTEGER)
    whole = schema("edits", edits={"type": "array", "items": edit})
    done = coerce({"edits": '[{"old": "a", "new": "b", "count": "2"}]'}, whole)
    assert done.problems == ()
    assert done.arguments == {"edits": [{"old_text": "a", "new_text": "b", "count": 2}]}
    done = coerce({"edits": [{"old": "a", "count": "x"}]}, whole)
    assert done.problems == (
        'The argument "edits[0].count" must be an integer, but "x" was given.',
        'The required argument "edits[0].new_text" (string) is missing.',
    )


def test_local_references() -> None:
    tree: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    root = {**schema(x={"$ref": "#/$defs/tree"}, y={"$ref": "#/nowhere"}, z={"$ref": "#/$defs/loop"})}
    root["$defs"] = {"tree": tree, "loop": {"$ref": "#/$defs/loop"}}
    done = coerce({"x": "[[], [[]]]", "y": 1, "z": 2}, root)
    assert done.arguments == {"x": [[], [[]]], "y": 1, "z": 2}


def test_key_order_is_kept() -> None:
    assert list(coerce({"b": 1, "a": 2}, schema(a=INTEGER, b=INTEGER)).arguments) == ["b", "a"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
kinds: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": types | st.lists(types, min_size=1, max_size=3)}
)


@given(anything, kinds)
def test_a_fitted_value_fits_again_unchanged(value: Any, kind: dict[str, Any]) -> None:
    once = coerce({"x": value}, schema("x", x=kind))
    if once.problems:
        return
    again = coerce(once.arguments, schema("x", x=kind))
    assert (again.arguments, again.problems, again.changes) == (once.arguments, (), ())
    json.dumps(once.arguments, allow_nan=False)


@given(st.dictionaries(st.text(max_size=5), anything), anything)
def test_any_schema_is_taken_without_raising(arguments: dict[str, Any], odd: Any) -> None:
    for key in ("properties", "required", "anyOf", "enum", "items", "type"):
        coerce(arguments, {"type": "object", "properties": {k: {key: odd} for k in arguments}, key: odd})


@given(st.text())
def test_a_string_for_a_string_is_never_changed(text: str) -> None:
    assert coerce({"x": text}, schema("x", x=TEXT)).arguments == {"x": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        (" true ", True),
        ("True", True),
        ("None", None),
        ("{'a': (1, 2)}", {"a": [1, 2]}),
        ("three", "three"),
        ("[1,2", "[1,2"),
        ("{1, 2}", "{1, 2}"),
        ("b'x'", "b'x'"),
        ("1e999", "1e999"),
        ("__import__('os')", "__import__('os')"),
        ("'\\d'", "\\d"),
        ("(" * 5000, "(" * 5000),
    ],
)
def test_t12_literals(text: str, value: Any) -> None:
    assert literal(text) == value


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("read", ["read"], "read"),
        ("read\n", ["read"], "read"),
        (" shell", ["shell"], "shell"),
        ("Shell", ["shell"], "shell"),
        ('"read"', ["read"], "read"),
        ("`read`", ["read"], "read"),
        ("list()", ["list"], "list"),
        ("functions.read", ["read"], "read"),
        ("ReadFile", ["read_file"], "read_file"),
        ("web-fetch", ["web_fetch"], "web_fetch"),
        ("READ", ["Read", "read"], None),
        ("read_file", ["read"], "read"),
        ("read_file", ["read", "read_file"], "read_file"),
        ("Write_File", ["write"], "write"),
        ("str_replace", ["edit"], "edit"),
        ("bash", ["shell"], "shell"),
        ("execute", ["shell"], "shell"),
        ("grep", ["search"], "search"),
        ("ls", ["list"], "list"),
        ("bash", ["read"], None),
        ("find_text", ["read", "search"], None),
        ("", ["read"], None),
        ("read", [], None),
    ],
)
def test_call_13_names_of_tools(name: str, known: list[str], meant: str | None) -> None:
    assert clean_name(name, known) == meant
