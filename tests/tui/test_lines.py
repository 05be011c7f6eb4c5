"""The line that says what goes on, where there is little room."""

from __future__ import annotations

from rich.cells import cell_len

from pool.tui.lines import GAP, fitting

LONG = "connection refused at http://127.0.0.1:9977/v1; nothing listens there"


def test_a_long_detail_leaves_room_for_the_time_and_the_hint() -> None:
    words = fitting(["connecting", LONG, "12 s"], 70)
    assert (words[0], words[2]) == ("connecting", "12 s")
    assert words[1].startswith("connection refused at")
    assert words[1].endswith("…")
    assert 2 + cell_len(GAP.join(words)) < 70


def test_wide_characters_count_two_cells() -> None:
    words = fitting(["running", "設定を読む" * 10, "3 s"], 40)
    assert 2 + cell_len(GAP.join(words)) < 40


def test_what_fits_or_cannot_be_made_to_fit_stays() -> None:
    for words, width in (
        (["reading", "about 5 tokens", "2 s"], 70),
        (["thinking"], 3),
        (["waiting for your answer", "edit"], 20),
    ):
        assert fitting(words, width) == words
