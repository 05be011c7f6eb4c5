"""What the model understands of a client: its tools, its file listings, the output of test runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.sim.listing import FileView, refused
from pool.sim.testrun import lacks_runner, parse_run
from pool.sim.toolbox import Role, find_tools
from tests.sim.client import NUMBER, TEXT, function

CODE = '"""Doc."""\n\n\ndef f(x):\n    if x:\n        return 1\n    return 2\n'
LINES = CODE.splitlines()
FORMS = ("{}|{}", "{:>6}→{}", "{}\t{}", "{}: {}", "{}:{}", "{:4} | {}")


def listing(form: str, first: int, last: int) -> str:
    return "\n".join(form.format(number, LINES[number - 1]) for number in range(first, last + 1))


@pytest.mark.parametrize("form", FORMS)
def test_numbered_listing_is_read(form: str) -> None:
    view = FileView()
    assert view.learn(f"File thing.py\n{listing(form, 1, len(LINES))}")
    assert view.text == CODE
    assert view.whole


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", range(1, len(LINES)))
def test_pages_are_put_together(form: str, cut: int) -> None:
    view = FileView()
    first = f"{listing(form, 1, cut)}\n[lines 1-{cut} of {len(LINES)}; for more, read with offset {cut + 1}]"
    assert view.learn(first)
    assert (view.whole, view.first_gap) == (False, cut + 1)
    assert view.learn(listing(form, cut + 1, len(LINES)))
    assert view.whole
    assert view.text == CODE


@pytest.mark.parametrize(
    "result", [CODE, f"```python\n{CODE}```", f"<file>\n{CODE}</file>", f"Contents of a.py:\n\n{CODE}"]
)
def test_listing_without_numbers_is_unwrapped(result: str) -> None:
    view = FileView()
    assert view.learn(result)
    assert view.text.strip() == CODE.strip()


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["C", "Zl", "Zp"])), min_size=1, max_size=20))
def test_any_text_survives_numbering(lines: list[str]) -> None:
    view = FileView()
    assert view.learn("\n".join(f"{number}→{line}" for number, line in enumerate(lines, 1)))
    assert view.text == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    "result", ["error: no such file", "File not found: a.py", "Denied by a rule.", "The text occurs 3 times in a.py"]
)
def test_refusals_are_seen(result: str) -> None:
    assert refused(result)
    assert not FileView().learn(result)


def test_a_path_is_no_refusal() -> None:
    assert not refused("edited app/error.py", "app/error.py")
    assert not refused("1|# this cannot fail")


OUTPUT = """\
..F.F                                                                    [100%]
=================================== FAILURES ===================================
______________________________ test_low[some-id] _______________________________

    def test_low():
>       assert low() == 1
E       assert 2 == 1

tests/test_a.py:9: AssertionError
__________________________________ test_bad ___________________________________
E       Failed: DID NOT RAISE <class 'thing.errors.ThingError'>

tests/test_b.py:4: Failed
=========================== short test summary info ============================
FAILED tests/test_a.py::test_low[some-id] - assert 2 == 1
FAILED tests/test_b.py::TestIt::test_bad - Failed: DID NOT RAISE <class 'thing...
2 failed, 3 passed, 1 warning in 0.12s
"""


def test_run_is_understood() -> None:
    run = parse_run(OUTPUT)
    assert run is not None
    assert (run.failed, run.passed, run.errors, run.green) == (2, 3, 0, False)
    assert run.test_files == ("tests/test_a.py", "tests/test_b.py")
    assert run.test_names == ("test_low", "test_bad")
    assert run.not_raised == ("ThingError",)
    assert run.places == (("tests/test_a.py", 9), ("tests/test_b.py", 4))
    assert run.counts == "2 failed, 3 passed"


def test_run_without_a_list_of_failures_is_understood() -> None:
    run = parse_run(OUTPUT.partition("=========================== short")[0] + "2 failed, 3 passed in 0.12s")
    assert run is not None
    assert run.test_names == ("test_low", "test_bad")
    assert run.test_files == ("tests/test_a.py",)


@pytest.mark.parametrize(
    ("tail", "counts"),
    [
        ("12 passed in 1.02s", "12 passed"),
        ("===== 1 failed, 2 errors in 3s =====", "1 failed, 2 could not be run"),
        ("no tests ran in 0.01s", "no tests were found"),
    ],
)
def test_counts_are_told(tail: str, counts: str) -> None:
    run = parse_run(f"....\n{tail}\n")
    assert run is not None
    assert run.counts == counts


@pytest.mark.parametrize("output", ["", "hello", "/bin/sh: 1: python: not found", "5 files changed in git"])
def test_other_output_is_no_run(output: str) -> None:
    assert parse_run(output) is None


def test_missing_runner_is_seen() -> None:
    assert lacks_runner("/bin/sh: 1: python: not found")
    assert lacks_runner("bash: python: command not found")
    assert lacks_runner("/usr/bin/python: No module named pytest")
    assert not lacks_runner(OUTPUT)


@pytest.mark.parametrize(
    ("tool", "role", "values", "expected"),
    [
        (function("Bash", ("command",), command=TEXT), Role.SHELL, {"command": "ls"}, {"command": "ls"}),
        (
            function("run_command", ("cmd", "timeout"), cmd=TEXT, timeout=NUMBER),
            Role.SHELL,
            {"command": "ls"},
            {"cmd": "ls", "timeout": 60},
        ),
        (
            function("view", ("filePath",), filePath=TEXT, offset=NUMBER),
            Role.READ,
            {"path": "a", "offset": 9},
            {"filePath": "a", "offset": 9},
        ),
        (
            function("str_replace", (), file=TEXT, old_str=TEXT, new_str=TEXT),
            Role.EDIT,
            {"path": "a", "old": "b", "new": "c"},
            {"file": "a", "old_str": "b", "new_str": "c"},
        ),
        (
            function(
                "edit",
                ("path", "edits"),
                path=TEXT,
                edits={"type": "array", "items": {"properties": {"oldText": TEXT, "newText": TEXT}}},
            ),
            Role.EDIT,
            {"path": "a", "old": "b", "new": "c"},
            {"path": "a", "edits": [{"oldText": "b", "newText": "c"}]},
        ),
        (function("run_tests", ()), Role.TESTS, {}, {}),
    ],
)
def test_tool_is_found_and_spoken_to(tool: Any, role: Role, values: dict[str, Any], expected: dict[str, Any]) -> None:
    found = find_tools([tool]).get(role)
    assert found is not None
    call = found.call(**values)
    assert call.arguments == expected
    assert found.values(call.arguments) == {word: str(value) for word, value in values.items()}


@pytest.mark.parametrize("tool", [function("edit", ("patch",), patch=TEXT), function("grep", ("path",), path=TEXT)])
def test_tool_that_cannot_say_what_is_needed_is_left_alone(tool: Any) -> None:
    assert find_tools([tool]).tools == {}
