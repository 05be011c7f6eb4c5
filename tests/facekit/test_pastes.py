"""Large pastes are one mark in the box and the whole text when sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pool.facekit.pastes import Pastes, normal_lines


def test_ten_thousand_lines_are_one_mark_and_come_back_whole() -> None:
    pastes = Pastes()
    text = "\r".join(f"line {n}" for n in range(10_000))
    mark = pastes.fold(text)
    assert mark == "[paste #1: 10,000 lines]"
    assert pastes.unfold(f"look at this:\n{mark} please") == f"look at this:\n{normal_lines(text)} please"


def test_a_line_end_at_the_end_is_no_line_more() -> None:
    assert Pastes().fold("line\n" * 300) == "[paste #1: 300 lines]"


def test_a_long_line_counts_its_characters() -> None:
    assert Pastes().fold("x" * 5000) == "[paste #1: 5,000 characters]"


def test_a_small_paste_stays_as_it_is_but_for_its_line_ends() -> None:
    assert Pastes().fold("a\r\nb\rc\n") == "a\nb\nc\n"


def test_a_mark_that_nobody_made_stays_text() -> None:
    assert Pastes().unfold("[paste #1: 10 lines]") == "[paste #1: 10 lines]"


def test_numbers_are_not_used_again() -> None:
    pastes = Pastes()
    pastes.fold("x" * 5000)
    pastes.clear()
    assert pastes.fold("y" * 5000).startswith("[paste #2:")
    assert pastes.unfold("[paste #1: 5,000 characters]") == "[paste #1: 5,000 characters]"


def test_a_mark_without_its_end_takes_no_other_along() -> None:
    pastes = Pastes()
    first, second = pastes.fold("x" * 5000), pastes.fold("y" * 5000)
    assert pastes.unfold(first[:-1] + second) == first[:-1] + "y" * 5000


def test_the_mark_before_a_place_is_known_if_it_is_ours() -> None:
    pastes = Pastes()
    mark = pastes.fold("x" * 5000)
    assert pastes.mark_before(f"see {mark}") == len(mark)
    assert pastes.mark_before(f"{mark} ") == pastes.mark_before("[paste #9: 20 lines]") == pastes.mark_before("") == 0


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=40))
def test_what_is_sent_is_what_was_pasted(texts: list[str], between: str) -> None:
    pastes = Pastes()
    between = between.replace("[", "(")
    long = [t.replace("[", "(") * 100 for t in texts]
    shown = between.join(pastes.fold(t) for t in long)
    assert pastes.unfold(shown) == between.join(normal_lines(t) for t in long)
