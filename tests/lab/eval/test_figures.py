"""Plan, rows, figures, tables and page of an evaluation, without a server."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.lab.eval.flags import arms, parser
from pool.lab.eval.page import page
from pool.lab.eval.plan import Arm, cells
from pool.lab.eval.row import Row, row_of
from pool.lab.eval.running import RESULTS, read_rows
from pool.lab.eval.statistics import difference, mean, share, sign_test, summaries
from pool.lab.eval.suites import ALL, suite_named
from pool.lab.eval.table import report
from pool.lab.eval.task import Thinking

HOSTILE = "<script>alert(1)</script>\x1b[31m‮"


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # From the usual tables of Wilson's interval.
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (1, 1, 0.2065, 1.0)],
)
def test_shares_have_wilsons_interval(hits: int, n: int, low: float, high: float) -> None:
    found = share(hits, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def test_means_have_students_interval_and_one_value_has_none() -> None:
    found = mean([2.0, 4.0, 6.0])
    half = 4.303 * 2 / math.sqrt(3)
    assert (found.value, found.low, found.high) == (4.0, 0.0, pytest.approx(4 + half))
    assert (mean([3.0]).low, mean([3.0]).high, mean([]).value) == (3.0, 3.0, None)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=60))
def test_a_mean_lies_in_its_interval(values: list[float]) -> None:
    found = mean(values)
    assert found.value is not None
    assert found.low <= found.value * (1 + 1e-9)
    assert found.value <= found.high * (1 + 1e-9) + 1e-9


def test_few_pairs_are_no_difference() -> None:
    assert (sign_test(2, 0), sign_test(6, 0), sign_test(0, 0)) == (0.5, 2 / 64, 1.0)
    rows = [
        Row(f"t{at}", arm, True, 1, reward=reward)
        for at in range(6)
        for arm, reward in (("a", 1.0), ("b", 0.0), ("c", 1.0 if at else None))
    ]
    sure, same = (difference(rows, "a, thinking", f"{arm}, thinking") for arm in "bc")
    assert (sure.figure.value, sure.figure.n, sure.sure) == (1.0, 6, True)
    assert (same.figure.value, same.figure.n, same.sure) == (0.0, 5, False)
    assert not difference(rows[:6], "a, thinking", "b, thinking").sure


def test_every_run_is_planned_once_and_arms_take_turns() -> None:
    tasks = suite_named("tools").tasks
    planned = list(cells(tasks, [Arm("a"), Arm("b")], 3, Thinking.BOTH))
    assert len({cell.key for cell in planned}) == len(planned) == len(tasks) * 2 * 2 * 3
    pairs = [(cell.arm.name, cell.thinking) for cell in planned]
    assert pairs[:4] == [("a", True), ("a", False), ("b", True), ("b", False)]
    assert pairs[4 * len(tasks) :][:4] == pairs[:4][::-1]


def test_tasks_of_all_suites_have_names_of_their_own() -> None:
    names = [task.name for task in suite_named(ALL).tasks]
    assert len(set(names)) == len(names) >= 30


def test_arms_are_named() -> None:
    args = parser().parse_args(["fix", "--against", "http://a:1/v1#m", "--against", "x=http://b", "--harness", "codex"])
    assert [(arm.name, dict(arm.flags), arm.harness) for arm in arms(args)] == [
        ("pool", {}, ""),
        ("a:1/v1", {"server.base_url": "http://a:1/v1", "server.model": "m"}, ""),
        ("x", {"server.base_url": "http://b"}, ""),
        ("codex", {}, "codex"),
    ]
    with pytest.raises(ValueError, match="two arms are called 'x'"):
        arms(parser().parse_args(["fix", "--against", "x=http://a", "--against", "x=http://b"]))


def test_a_cut_line_and_fields_of_later_versions_are_no_harm(tmp_path: Path) -> None:
    row = Row("t", "a", True, 1, reward=1.0, guards=("loops:nudge",), figures={"pass": 1.0})
    lines = [json.dumps({**row.to_dict(), "new": 3}), json.dumps(row.to_dict())[:40], "[]", ""]
    (tmp_path / RESULTS).write_text("\n".join(lines))
    assert read_rows(tmp_path) == [row]
    assert row_of(row.to_dict()) == row
    assert read_rows(tmp_path / "none") == []


def rows() -> list[Row]:
    return [
        Row("one", "pool", True, 1, 1.0, 1.0, 1.0, "completed", turns=3, completion_tokens=90, reasoning_tokens=30),
        Row("one", "pool", True, 2, 0.0, 1.0, 0.0, "completed", audit="suspected", flags=("H1",), why=(HOSTILE,)),
        Row("two", HOSTILE, True, 1, error=HOSTILE),
    ]


def test_the_table_counts_what_was_judged_and_fits() -> None:
    text = report(rows())
    assert all(len(line) <= 80 for line in text.splitlines() if HOSTILE not in line)
    assert "one                          1/2         -" in text
    assert "reasoning per solved 30 tokens" in text
    assert "audit                1 of 2 runs not clean" in text
    (own, other) = summaries(rows())
    assert (own.errors, other.errors, other.solved.value) == (0, 1, None)


def test_the_page_takes_every_text_as_text() -> None:
    text = page(f"pool eval {HOSTILE}", {HOSTILE: HOSTILE}, rows())
    assert "<script>" not in text
    assert text.count("<svg") >= 4
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
