"""The test ledger against what answers claim."""

from __future__ import annotations

import pytest

from pool.agent import ledger as books


def ledger(*steps: tuple[str, str, int] | str) -> books.TestLedger:
    """A ledger after commands (command, output, exit status) and changed files (a path)."""
    out = books.TestLedger()
    for step in steps:
        if isinstance(step, str):
            out.edited([step])
        else:
            out.command(*step)
    return out


PASSED = ("python -m pytest -q", "5 passed", 0)
FAILED = ("pytest", "1 failed, 4 passed", 1)
EDIT = "app.py"
CLAIM = "All tests pass."


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass.",
        "I fixed the failing test; all tests now pass.",
        "The 12 tests pass.",
        "5 passed, 0 failed.",
        "Everything passes.",
        "The test suite is green.",
        "test_rounding passes now.",
        "テストはすべて通りました。",
        "全てのテストに成功しました。",
        "I did not change the tests. All of the tests pass.",
        "The test that failed before passes: all tests pass.",
    ],
)
def test_claims(text: str) -> None:
    assert books.claims_success(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tests should pass now.",
        "4 passed, 1 failed.",
        "I did not run the tests, but all tests pass in theory.",
        "All tests pass except test_io.",
        "If all tests pass, merge it.",
        "Run `pytest` to check that all tests pass.",
        "Not all tests pass.",
        "Do the tests pass?",
        "テストは成功しましたか\uff1f",
        "I added a test for the pass-through case.",
        "```\n12 passed\n```",
        "I reviewed the parser.",
        "テストは実行していません。通るはずです。",
        "テストが通らないため、修正が必要です。",
    ],
)
def test_no_claims(text: str) -> None:
    assert not books.claims_success(text)


@pytest.mark.parametrize(
    ("steps", "answer", "why"),
    [
        ((EDIT,), CLAIM, "no test was run"),
        ((EDIT, FAILED), CLAIM, "last test run failed"),
        ((EDIT, ("pytest | tail -1", "1 failed", 0)), CLAIM, "last test run failed"),
        ((EDIT, ("pytest", "no tests ran", 0)), CLAIM, "executed no test"),
        ((EDIT, PASSED, EDIT), CLAIM, "changed after"),
        ((EDIT, PASSED, ("sed -i s/a/b/ app.py", "", 0)), CLAIM, "changed after"),
        ((EDIT, ("pytest -k a", "1 passed", 0)), CLAIM, "only a part"),
        ((EDIT, FAILED), "Done. It is fixed.", "last test run failed"),
        ((EDIT, FAILED), "I fixed the off-by-one error.", "last test run failed"),
    ],
)
def test_what_is_not_backed(steps: tuple[tuple[str, str, int] | str, ...], answer: str, why: str) -> None:
    assert why in ledger(*steps).against(answer)


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ((), CLAIM),
        ((EDIT, PASSED), CLAIM),
        ((EDIT, FAILED, EDIT, PASSED), CLAIM),
        ((EDIT, PASSED, "CHANGES.md"), CLAIM),
        ((EDIT, ("cargo test", "ok. 5 passed; 0 failed", 0)), CLAIM),
        ((EDIT, ("pytest tests/test_a.py", "1 passed", 0)), "The tests in test_a.py pass."),
        ((EDIT, PASSED, ("pytest -k a", "1 passed", 0)), CLAIM),
        ((EDIT, PASSED, ("git status > /tmp/x.txt", "", 0)), CLAIM),
        ((EDIT, FAILED), "Done, but one test still fails."),
        ((FAILED,), "I finished the review: it is done."),
    ],
)
def test_what_is_backed(steps: tuple[tuple[str, str, int] | str, ...], answer: str) -> None:
    assert ledger(*steps).against(answer) == ""


def test_a_named_file_is_all_until_another_test_file_comes_up() -> None:
    one = ledger(EDIT, ("pytest tests/test_a.py", "1 passed", 0))
    assert one.against(CLAIM) == ""
    one.saw("tests/test_a.py\ntests/test_b.py")
    assert "only a part" in one.against(CLAIM)
