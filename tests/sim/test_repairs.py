"""The kinds of bug that the rules know, found in source and mended."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.sim.boundary import boundaries
from pool.sim.bugs import mutable_defaults, swallowed_exceptions
from pool.sim.reach import imported, reached, roots_of
from pool.sim.source import Fix
from tests.sim.client import REPOSITORY


def dedent(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def mended(fix: Fix, text: str) -> str:
    return fix.edit(text).applied(text)


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("a, seen=[]", "a, seen=None"),
        ("a, seen: dict[str, int] = {}", "a, seen: dict[str, int] | None = None"),
        ("a, *, seen=set()", "a, *, seen=None"),
        ("a, seen: list[int] | None = []", "a, seen: list[int] | None = None"),
    ],
)
def test_shared_default_is_made_inside(signature: str, expected: str) -> None:
    source = f'def f({signature}):\n    """Doc."""\n    return seen\n'
    (fix,) = mutable_defaults("a.py", source)
    lines = mended(fix, source).splitlines()
    assert lines[:3] == [f"def f({expected}):", '    """Doc."""', "    if seen is None:"]
    ast.parse("\n".join(lines))
    assert mutable_defaults("a.py", mended(fix, source)) == []


def test_shared_default_works_after_the_fix() -> None:
    source = "class A:\n    def __init__(\n        self,\n        items=[1],\n    ):\n        self.items = items\n"
    (fix,) = mutable_defaults("a.py", source)
    space: dict[str, type] = {}
    exec(mended(fix, source), space)
    first = space["A"]()
    first.items.append(2)
    assert space["A"]().items == [1]


SWALLOWED = dedent('''
    class ThingError(Exception):
        pass


    def f(text):
        """A number. Raises ThingError if it is none."""
        try:
            return int(text)
        except ValueError:
            pass
''')


def test_promised_exception_is_raised() -> None:
    (fix,) = swallowed_exceptions("a.py", SWALLOWED, ())
    assert fix.sure
    text = mended(fix, SWALLOWED)
    assert text.endswith("    except ValueError as error:\n        raise ThingError(str(error)) from error\n")
    assert swallowed_exceptions("a.py", text, ()) == []


def test_exception_that_a_test_missed_is_raised() -> None:
    source = SWALLOWED.replace("A number. Raises ThingError if it is none.", "A number.")
    (fix,) = swallowed_exceptions("a.py", source, ("ThingError",))
    assert not fix.sure
    assert "raise ThingError(str(error)) from error" in mended(fix, source)


def test_same_exception_is_let_through() -> None:
    source = SWALLOWED.replace("Raises ThingError", "Raises ValueError")
    (fix,) = swallowed_exceptions("a.py", source, ())
    assert mended(fix, source).endswith("    except ValueError:\n        raise\n")


def test_handler_that_does_something_is_left_alone() -> None:
    assert swallowed_exceptions("a.py", SWALLOWED.replace("pass\n", "print(text)\n", 2), ()) == []


@pytest.mark.parametrize(
    ("doc", "line", "expected"),
    [
        ("Items at or below the level.", "return n < level", "return n <= level"),
        ("At least level.", "return n > level", "return n >= level"),
        ("Pages count from 1.", "start = page * size", "start = (page - 1) * size"),
        ("How many pages.", "return len(items) // size + 1", "return (len(items) + size - 1) // size"),
        ("All up to and including n.", "return list(range(n))", "return list(range(n + 1))"),
    ],
)
def test_docstring_tells_the_boundary(doc: str, line: str, expected: str) -> None:
    source = f'def f(n, level, page, size, items):\n    """{doc}"""\n    {line}\n'
    fix = boundaries("a.py", source)[0]
    assert fix.sure
    assert mended(fix, source).splitlines()[2].strip() == expected


def test_raise_turns_the_boundary_around() -> None:
    source = 'def f(n, most):\n    """At most most."""\n    if n >= most:\n        raise ValueError(n)\n'
    assert "if n > most:" in mended(boundaries("a.py", source)[0], source)
    assert boundaries("a.py", source.replace(">=", ">")) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return x[: n - 1]", "return x[: n]"),
        ("return list(range(1, n))", "return list(range(0, n))"),
        ("return n > 3", "return n >= 3"),
    ],
)
def test_without_words_a_boundary_is_a_guess(line: str, expected: str) -> None:
    source = f"def f(x, n):\n    {line}\n"
    fixes = boundaries("a.py", source)
    assert not any(fix.sure for fix in fixes)
    assert expected in [mended(fix, source).splitlines()[1].strip() for fix in fixes]


def test_clean_program_gives_no_sure_finding() -> None:
    """The inventory as stored has its four bugs; nothing else in it may look like one for certain."""
    found = {
        (path.name, fix.function)
        for path in (REPOSITORY / "examples" / "inventory" / "inventory").glob("*.py")
        for text in [path.read_text(encoding="utf-8")]
        for find in (mutable_defaults, boundaries)
        for fix in find(path.name, text)
        if fix.sure
    }
    assert found == {("items.py", "make_item"), ("reports.py", "low_stock"), ("store.py", "take")}


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at(text: str) -> None:
    for fixes in (mutable_defaults("a", text), swallowed_exceptions("a", text, ()), boundaries("a", text)):
        for fix in fixes:
            assert fix.first <= fix.last


def test_edit_is_unique_where_lines_repeat() -> None:
    source = 'def f(n):\n    """At least 3."""\n    return n > 3\n\n\ndef g(n):\n    """More."""\n    return n > 3\n'
    edit = boundaries("a.py", source)[0].edit(source)
    assert source.count(edit.old) == 1
    assert edit.applied(source) == source.replace("n > 3", "n >= 3", 1)


def test_imports_lead_to_files() -> None:
    roots = roots_of(["sub/tests/test_a.py"])
    text = "import os\nimport pytest\nfrom thing.parts import f\nfrom . import near\n"
    assert imported("sub/tests/test_a.py", text, roots) == [
        (
            *("sub/thing/parts.py", "sub/thing/parts/__init__.py", "sub/src/thing/parts.py"),
            *("sub/src/thing/parts/__init__.py", "thing/parts.py", "thing/parts/__init__.py", "src/thing/parts.py"),
            "src/thing/parts/__init__.py",
        ),
        ("sub/tests/__init__.py",),
    ]


def test_only_what_failing_tests_come_by_is_near() -> None:
    tests = {"t.py": "def test_a():\n    assert outer()\n\n\ndef test_b():\n    assert other()\n"}
    sources = {"s.py": "def outer():\n    return inner()\n\n\ndef inner():\n    pass\n\n\ndef other():\n    pass\n"}
    assert reached(tests, ["test_a"], sources) == {"outer": 0, "inner": 1}
