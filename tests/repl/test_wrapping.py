"""Lines of an answer are broken between words, and nothing of them is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pool.repl.ink import Ink
from pool.repl.prose import Prose
from pool.repl.wrapping import LEAST_COLUMNS, rows_of


def test_words_stay_whole_and_items_are_indented() -> None:
    rows = rows_of("- The totals were sums of floats, which are off by a cent", 24)
    assert rows == ["- The totals were sums", "  of floats, which are", "  off by a cent"]


def test_a_long_word_is_cut_by_cells() -> None:
    assert rows_of("設定" * 12, 22) == ["設定" * 5 + "設", "定" + "設定" * 5, "設定"]


@given(st.text(alphabet="ab 設-.1`", max_size=200), st.integers(LEAST_COLUMNS, 60))
def test_every_row_fits_and_every_word_is_there(line: str, columns: int) -> None:
    rows = rows_of(line, columns)
    assert all(cell_len(row) <= columns for row in rows) or len(rows) == 1
    assert "".join("".join(rows).split()) == "".join(line.split())


def test_code_keeps_its_line_ends() -> None:
    said: list[str] = []
    prose = Prose(Ink(colours=False), said.append, lambda: 24)
    prose.feed("Look at this list of words:\n```\nresult = one + two + three + four\n```\n")
    prose.end()
    assert said == ["Look at this list of", "words:", "```", "result = one + two + three + four", "```"]
