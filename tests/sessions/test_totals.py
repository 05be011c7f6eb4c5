"""What a session has used, counted from its log: whole runs, one that was killed, and rows that say nonsense."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pool.sessions.totals import Tally, Totals

ROWS: list[dict[str, Any]] = [
    {"type": "run.started", "wall": 100.0},
    {"type": "usage", "turn": 1, "wall": 104.0, "usage": {"prompt": 1000, "completion": 50}},
    {"type": "usage", "turn": 2, "wall": 109.0, "usage": {"prompt": 1100, "completion": 50}},
    {
        "type": "run.finished",
        "turns": 2,
        "seconds": 8.5,
        "usage": {"prompt": 2100, "completion": 100},
        "reasoning_tokens": 60,
    },
    {"type": "run.started", "wall": 200.0},
    {"type": "usage", "turn": 1, "wall": 207.0, "usage": {"prompt": 1200, "completion": 30}},
]


def tallied(rows: list[dict[str, Any]]) -> Totals:
    tally = Tally()
    for row in rows:
        tally.take(row)
    return tally.totals


def test_a_run_that_was_killed_counts_by_its_requests() -> None:
    assert tallied(ROWS) == Totals(3, 15.5, 3430, 60)
    again = [*ROWS, {"type": "run.started", "wall": 300.0}]
    assert tallied(again) == Totals(3, 15.5, 3430, 60)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(["run.started", "run.finished", "usage", "other"])
names = st.sampled_from(["turns", "turn", "seconds", "wall", "usage", "reasoning_tokens"])


@given(st.lists(st.tuples(kinds, st.dictionaries(names, anything)), max_size=8))
def test_no_row_makes_it_fail_or_count_down(rows: list[tuple[str, dict[str, Any]]]) -> None:
    totals = tallied([{**fields, "type": kind} for kind, fields in rows])
    assert min(totals.turns, totals.seconds, totals.tokens, totals.reasoning) >= 0
