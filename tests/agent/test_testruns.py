"""Which commands run tests, how much of them, and what their output says."""

from __future__ import annotations

import pytest

from pool.agent import testruns
from pool.agent.testruns import nothing_ran, output_failed, parse_test_command

WHOLE = [
    "pytest",
    "pytest -q",
    "python -m pytest -q",
    "python3.12 -B -m pytest -q --tb short -n 2",
    "cd app && python -m pytest",
    "PYTHONPATH=. pytest tests/",
    "timeout 60 pytest -x 2>&1",
    "uv run pytest",
    "poetry run python -m pytest .",
    "python3 -m unittest discover -s tests",
    "bash -c 'cd app; pytest -q'",
    "npm test",
    "npm run test:unit",
    "cargo test --release",
    "go test ./...",
    "make check",
    "./gradlew test",
    "./run_tests.sh",
    "sh test.sh",
    "tox -e py311",
    "coverage run -m pytest",
]
PARTS = [
    "pytest tests/test_a.py",
    "pytest tests/test_a.py::test_b",
    "pytest -k name",
    "python -m pytest -m fast",
    "pytest --lf",
    "go test ./pkg",
    "go test -run TestA ./...",
    "cargo test parser",
    "python3 -m unittest tests.test_a",
]
OTHER = [
    "cat pytest.ini",
    "pip install pytest",
    "ls tests | grep pytest",
    "grep -rn 'make test' docs",
    "which pytest",
    "echo pytest",
    "git log -- tests/test_a.py",
    "python setup.py build",
    "pytest-watch",
    "vim tox.ini",
]


@pytest.mark.parametrize("command", WHOLE)
def test_commands_that_run_all_tests(command: str) -> None:
    found = parse_test_command(command)
    assert found is not None
    assert (found.selects, found.files) == (False, ())


@pytest.mark.parametrize("command", PARTS)
def test_commands_that_run_some_tests(command: str) -> None:
    found = parse_test_command(command)
    assert found is not None
    assert found.selects or found.files


@pytest.mark.parametrize("command", OTHER)
def test_commands_that_run_no_tests(command: str) -> None:
    assert parse_test_command(command) is None


@pytest.mark.parametrize(
    ("command", "masked"),
    [
        ("pytest", False),
        ("pytest && echo ok", False),
        ("pytest | tail -3", True),
        ("set -o pipefail; pytest | tail -3", False),
        ("pytest; echo done", True),
        ("pytest || true", True),
        ("cd x; pytest", False),
    ],
)
def test_whose_exit_status_is_seen(command: str, masked: bool) -> None:
    found = parse_test_command(command)
    assert found is not None
    assert found.masked is masked


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("3 passed in 0.1s", False),
        ("test result: ok. 5 passed; 0 failed; 0 ignored", False),
        ("0 failures, 0 errors", False),
        ("1 failed, 3 passed", True),
        ("FAILED (failures=1)", True),
        ("--- FAIL: TestA", True),
        ("Tests: 2 failed, 8 passed", True),
        ("failures: 10", True),
    ],
)
def test_what_an_output_says(text: str, failed: bool) -> None:
    assert output_failed(text) is failed


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("no tests ran in 0.01s", True),
        ("Ran 0 tests in 0.000s", True),
        ("/usr/bin/python: No module named pytest", True),
        ("running 0 tests\n\nrunning 3 tests", False),
        ("4 passed", False),
    ],
)
def test_whether_anything_ran(text: str, nothing: bool) -> None:
    assert nothing_ran(text) is nothing


def test_names_of_test_files() -> None:
    text = "tests/test_a.py\nsrc/app.py\nweb/form.test.tsx\npkg/io_test.go\n"
    assert testruns.test_files(text) == {"test_a.py", "form.test.tsx", "io_test.go"}
