"""Lines of keys, against what `tomllib` reads from the same text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from pool.config.lines import line_of, statements

PARTS = st.sampled_from(["a", "b-c", "x y", "ü", 'q"', "d.e", "#", "="])
SCALARS = st.one_of(st.integers(0, 9), st.booleans(), st.text("ab\n#[]{}='\"\\", max_size=9))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
TABLES = st.recursive(
    st.dictionaries(PARTS, VALUES, max_size=3),
    lambda inner: st.dictionaries(PARTS, st.one_of(VALUES, inner), max_size=3),
    max_leaves=8,
)


def paths(table: Mapping[str, Any], lead: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path that leads to a value; tables in lists stand for themselves."""
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from paths(cast(Mapping[str, Any], value), (*lead, name))
        elif not isinstance(value, dict):
            yield (*lead, name)


@given(TABLES)
def test_all_keys_of_a_file_are_found(table: dict[str, Any]) -> None:
    text = tomlkit.dumps(table)
    found = dict(statements(text))
    assert set(paths(tomllib.loads(text))) <= set(found)
    assert list(found.values()) == sorted(found.values())


@given(st.text("ab.=[]{}\"'#\n\\ ,1", max_size=60))
def test_any_text_is_read_to_an_end(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for _, line in statements(text))


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a = 1\n# b = 2\nb = 3\n", "b", 3),
        ("[t]\nx = '''\ny = 1\n'''\ny = 2\n", "t.y", 5),
        ('[t]\nx = """\n\\""" y = 1\n"""\ny = 2\n', "t.y", 5),
        ("t.u.v = 1\n", "t.u", 1),
        ("[t]\nu = { v = 1 }\n", "t.u.v", 2),
        ("[t]\nlist = [\n 1, # ]\n 2,\n]\nz = 1\n", "t.z", 6),
        ("[a]\nx = 1\n['b']\nx = 2\n", "b.x", 4),
        ("x = 1\n", "y", 0),
    ],
)
def test_lines(text: str, key: str, line: int) -> None:
    assert line_of(text, key) == line
