"""JSON objects from models: what is mended, what is refused, and how that is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.wire.jsontext import MAX_DEPTH, BadJson, Mend, canonical, named_call, read_object, read_prefix

MENDED: list[tuple[str, dict[str, Any], set[Mend]]] = [
    ('{"a": 1}', {"a": 1}, set()),
    (' \n{"a": 1}\t ', {"a": 1}, set()),
    ("", {}, set()),
    ("null", {}, set()),
    ('{"path":"app.py"}}', {"path": "app.py"}, {Mend.EXTRA_BRACE}),
    ('{"path":"app.py"} }}\n', {"path": "app.py"}, {Mend.EXTRA_BRACE}),
    (
        '{"command":"python -m pytest -q"},"timeout":60}}',
        {"command": "python -m pytest -q", "timeout": 60},
        {Mend.CLOSED_EARLY, Mend.EXTRA_BRACE},
    ),
    ('{"a":1},"b":{"c":"}"}},"d":2}', {"a": 1, "b": {"c": "}"}, "d": 2}, {Mend.CLOSED_EARLY}),
    ('{}"path":"a"}', {"path": "a"}, {Mend.CLOSED_EARLY}),
    ('{"a":"x"}{"a":"x"}', {"a": "x"}, {Mend.SENT_TWICE}),
    ('{"a":"x"}\n{ "a" : "x" }{"a":"x"}', {"a": "x"}, {Mend.SENT_TWICE}),
    ('"{\\"a\\": 1}"', {"a": 1}, {Mend.ENCODED_TWICE}),
    ('{"a":"line\n\tnext"}', {"a": "line\n\tnext"}, {Mend.CONTROL_CHARACTERS}),
    ('{"a":"\\ud83d\\ude80"}', {"a": "🚀"}, set()),
    ('{"a":["\\ud83d x"]}', {"a": ["\ufffd x"]}, {Mend.LONE_SURROGATES}),
    ('{"a":"\ud83d\ude80\ude80"}', {"a": "🚀\ufffd"}, {Mend.LONE_SURROGATES}),
    ('{"a":1,"a":1}', {"a": 1}, set()),
]


@pytest.mark.parametrize(("text", "value", "mends"), MENDED)
def test_read(text: str, value: dict[str, Any], mends: set[Mend]) -> None:
    read = read_object(text)
    assert read.value == value
    assert set(read.mends) == mends
    canonical(read.value).encode()


REFUSED: list[tuple[str, str]] = [
    ('{"a":1', "stops before it is complete"),
    ('{"a":"x', "stops before it is complete"),
    ('{"path":"a"},"content":"x"', "complete after 12 characters"),
    ('{"command":"x"},"timeout":6', "complete after 15 characters"),
    ('{"a":1}{"a":2}', "complete after 7 characters"),
    ('{"a":1}{"a":', "complete after 7 characters"),
    ('{"a":1} and more', "comes ' and more'"),
    ('{"a":1,"a":2}', '"a" is given twice'),
    ('{"x":[{"a":1,"a":"1"}]}', '"a" is given twice'),
    ('{"a":NaN}', "NaN"),
    ('{"a":1e999}', "1e999"),
    ('{"a":' + "9" * 5000 + "}", "too many digits"),
    ("[1]", "a list"),
    ("3", "a number"),
    ("true", "true or false"),
    ('"text"', "a string"),
    ('"[1]"', "a string"),
    ('"{\\"a\\": 1"', "stops before it is complete"),
    ('"\\"{}\\""', "a string"),
    ("{'a': 1}", "not valid"),
    ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "levels deep"),
    ("[" * 100_000, "deep"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(BadJson) as caught:
        read_object(text)
    assert words in str(caught.value)


def test_only_a_text_that_stops_early_is_incomplete() -> None:
    for text, incomplete in (('{"a": "b', True), ('{"a": b}', False)):
        with pytest.raises(BadJson) as caught:
            read_prefix(text)
        assert caught.value.incomplete is incomplete


def test_prefix_says_where_the_value_ends() -> None:
    assert read_prefix('x {"a": 1} y', 2)[:2] == ({"a": 1}, 10)


objects = st.dictionaries(
    st.text(max_size=6),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@given(objects, st.booleans(), st.sampled_from([None, 2]))
def test_any_object_is_read_back(value: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert read_object(text).value == value
    assert read_object(json.dumps(text)).value == value
    assert list(read_object(text).value) == list(value)


@given(objects.filter(bool), st.data())
def test_a_cut_object_is_never_read(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(BadJson):
        read_object(cut)


@given(objects, st.integers(1, 3), st.data())
def test_an_object_closed_early_is_mended(value: dict[str, Any], extra: int, data: st.DataObject) -> None:
    members = [f"{json.dumps(k)}:{json.dumps(v)}" for k, v in value.items()]
    early = data.draw(st.sets(st.integers(1, max(1, len(members) - 1))) if len(members) > 1 else st.just(set[int]()))
    text = "{" + "".join(("" if n == 0 else ("}," if n in early else ",")) + member for n, member in enumerate(members))
    assert read_object(text + "}" * extra).value == value


@given(st.text(alphabet='{}[]":, \\ntrue1.e-\ud83d', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = read_object(text)
    except BadJson:
        return
    assert read_object(canonical(read.value)).value == read.value


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ({"name": "read", "arguments": {"path": "a"}}, "read", {"path": "a"}),
        ({"name": " read\n", "parameters": {"path": "a"}}, "read", {"path": "a"}),
        ({"type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}, "read", {"path": "a"}),
        ({"name": "list", "arguments": None}, "list", {}),
    ],
)
def test_a_call_as_one_object(call: dict[str, Any], name: str, arguments: dict[str, Any]) -> None:
    assert named_call(call)[:2] == (name, arguments)


@pytest.mark.parametrize("call", [{}, {"name": ""}, {"name": 3}, {"name": "read", "arguments": [1]}])
def test_an_object_that_is_no_call(call: dict[str, Any]) -> None:
    with pytest.raises(BadJson):
        named_call(call)
