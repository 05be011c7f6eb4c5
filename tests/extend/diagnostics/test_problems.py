"""What counts as new, and what is read from the output of checkers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.extend.diagnostics import parsing
from pool.extend.diagnostics.parsing import NotUnderstood, by_pattern
from pool.extend.diagnostics.problems import Problem, new_problems

ROOT = Path("/w")


def at(line: int, message: str = "m", path: str = "a.py", code: str = "C1") -> Problem:
    return Problem(path, line, 1, "error", code, message)


def test_a_problem_that_moved_with_its_line_is_old_and_an_equal_one_on_a_new_line_is_new() -> None:
    old, new = "a\nbad\nc\n", "new\nbad\na\nbad\nc\n"
    assert new_problems([at(2)], [at(2), at(4)], "a.py", old, new) == (at(2),)


def test_a_problem_of_a_changed_line_is_not_told_again() -> None:
    assert new_problems([at(1)], [at(1)], "a.py", "bad = 1\n", "bad = 2\n") == ()


def test_problems_of_other_files_count() -> None:
    before, after = [at(3, path="b.py")], [at(3, path="b.py"), at(9, "other", path="b.py")]
    assert new_problems(before, after, "a.py", "x\n", "y\n") == (at(9, "other", path="b.py"),)


LINES = st.lists(st.sampled_from("abc"), max_size=6)


@given(LINES, LINES, st.data())
def test_never_more_is_new_than_there_are_more_of(old: list[str], new: list[str], data: st.DataObject) -> None:
    def some(lines: list[str]) -> list[Problem]:
        numbers = st.integers(1, max(1, len(lines)))
        return [at(n, m) for n, m in data.draw(st.lists(st.tuples(numbers, st.sampled_from("xy")), max_size=5))]

    before, after = some(old), some(new)
    found = new_problems(before, after, "a.py", "\n".join(old), "\n".join(new))
    for message in "xy":
        more = sum(p.message == message for p in after) - sum(p.message == message for p in before)
        assert sum(p.message == message for p in found) == max(0, more)


def test_every_parser_reads_its_checkers_form() -> None:
    ruff = json.dumps([{"filename": "/w/a.py", "location": {"row": 3, "column": 5}, "code": "F401", "message": "x"}])
    assert parsing.ruff(ruff, ROOT) == [Problem("a.py", 3, 5, "warning", "F401", "x")]
    tsc = "src/a.ts(1,7): error TS2322: Type 'string' is not assignable.\n  more\n"
    assert parsing.tsc(tsc, ROOT) == [Problem("src/a.ts", 1, 7, "error", "TS2322", "Type 'string' is not assignable.")]
    go = "# x\nvet: ./a.go:3:2: undefined: y\n"
    assert parsing.go(go, ROOT) == [Problem("a.go", 3, 2, "error", "", "undefined: y")]
    span = {"file_name": "src/m.rs", "line_start": 2, "column_start": 4, "is_primary": True}
    message = {"level": "error", "code": {"code": "E0308"}, "message": "mismatched", "spans": [span]}
    cargo = "warning: noise\n" + json.dumps({"reason": "compiler-message", "message": message})
    assert parsing.cargo(cargo, ROOT) == [Problem("src/m.rs", 2, 4, "error", "E0308", "mismatched")]
    start = {"line": 0, "character": 1}
    one = {"file": "/w/a.py", "severity": "error", "message": "m\nmore", "rule": "r", "range": {"start": start}}
    assert parsing.pyright(json.dumps({"generalDiagnostics": [one]}), ROOT) == [
        Problem("a.py", 1, 2, "error", "r", "m")
    ]


def test_what_is_no_list_of_problems_is_refused_and_text_is_cleaned() -> None:
    with pytest.raises(NotUnderstood, match="it printed ruff failed"):
        parsing.ruff("ruff failed\n", ROOT)
    parse = by_pattern(r"(?P<path>\S+): (?P<message>.*)", "a.py")
    (found,) = parse("../etc/x: \x1b[31mred\x1b]0;t\x07 \u202eend\n", ROOT)
    assert (found.path, found.message) == ("/etc/x", "red \\u202eend")


@given(st.text(max_size=200))
def test_no_output_breaks_a_parser(output: str) -> None:
    for parse in (parsing.ruff, parsing.pyright, parsing.cargo, parsing.tsc, parsing.go):
        try:
            parse(output, ROOT)
        except NotUnderstood:
            continue
