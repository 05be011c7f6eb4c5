"""Figures of replies that are put together by hand."""

from __future__ import annotations

import pytest

from pool.lab.bench.noise import doubts, spread
from pool.lab.bench.timeline import Counts, Mark, sample


def test_a_thought_before_the_answer() -> None:
    marks = [Mark(0.5, 4, False, 1), Mark(0.6, 4, False, 2), Mark(0.7, 9, True, 5), Mark(0.9, 9, True, 9)]
    found = sample(marks, Counts(100, 40, 9))
    assert (found.first, found.first_answer, found.last) == (0.5, 0.7, 0.9)
    assert found.decode_rate == pytest.approx(8 / 0.4)
    assert found.read_rate == pytest.approx(60 / 0.5)
    assert found.whole_rate == pytest.approx(9 / 0.9)
    assert found.tokens_a_piece == 2.0, "the last arrival may be cut by the end and does not count"


def test_text_that_was_only_held_back_is_no_token() -> None:
    marks = [Mark(1.0, 1, True, 1), Mark(1.1, 1, True, 2), Mark(1.2, 30, True, 2)]
    assert sample(marks, Counts(1, None, 2)).last == 1.1


def test_nothing_to_measure() -> None:
    empty = sample([], Counts())
    assert (empty.first, empty.decode_rate, empty.whole_rate, empty.read_rate, empty.tokens_a_piece) == (None,) * 5
    one = sample([Mark(0.2, 3, True)], Counts(5, None, 3))
    assert one.decode_rate is None


def test_a_server_without_counts_has_no_speed() -> None:
    assert sample([Mark(0.1, 3, True), Mark(0.2, 3, True)], Counts()).decode_rate is None


def test_a_stall_is_long_in_itself_and_for_this_reply() -> None:
    times = [0.1 * at for at in range(10)] + [2.0, 2.1]
    found = sample([Mark(at, 1, True) for at in times], Counts(1, None, 12))
    assert found.stalls == 1
    assert found.longest_gap == pytest.approx(1.1)
    slow = sample([Mark(float(at), 1, True) for at in range(5)], Counts(1, None, 5))
    assert slow.stalls == 0


def test_doubts() -> None:
    assert doubts([20.0, 20.1, 19.9], 12.0, 0.02) == []
    assert "repeats differ by 10%" in doubts([20.0, 21.0, 19.0], 12.0, 0.02)[0]
    assert "late by up to 50 ms in times of 1000 ms" in doubts([20.0], 1.0, 0.05)[0]
    assert spread([]) == 0.0
