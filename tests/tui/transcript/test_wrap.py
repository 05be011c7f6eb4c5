"""Wrapping and widths."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from pool.facekit.clean import Cleaner, clean
from pool.tui.transcript.wrap import fit, wrap

TEXT = st.lists(
    st.sampled_from(
        [*"ab cd  ,.", "word", " ", "   ", "日本語", "、", "👩‍💻", "❤️", "e\u0301", "\u200d", "🇩🇪", "ｱ", "x" * 15]
    ),
    max_size=30,
).map("".join)


@given(TEXT, st.integers(2, 30))
@example("a" * 100, 7)
@example("日" * 9, 2)
@example("   ", 2)
def test_rows_fit_and_join_to_the_text(text: str, width: int) -> None:
    rows = wrap([(text[:5], Style(bold=True)), (text[5:], Style())], width)
    assert all(cell_len(row.text) <= width for row in rows)
    joined = "".join(row.text + (row.joiner or "") for row in rows).replace("\u200d", "")
    text = text.replace("\u200d", "")
    assert text.startswith(joined)
    assert not text[len(joined) :].strip(" ")
    assert [row.joiner is None for row in rows] == [False] * (len(rows) - 1) + [True]


def test_breaks_stand_at_blanks_and_between_wide_characters() -> None:
    def rows(text: str, width: int) -> list[str]:
        return [row.text for row in wrap([(text, Style())], width)]

    assert rows("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert rows("日本語のテキスト。", 6) == ["日本語", "のテキ", "スト。"]
    assert rows("日本語。あ", 6) == ["日本", "語。あ"]
    assert rows("see 日本語", 6) == ["see 日", "本語"]


@given(st.text(max_size=60), st.lists(st.integers(1, 5), min_size=1))
@example("a\r\n\ud83d\ude00b\r", [1])
def test_cleaning_in_pieces_is_cleaning_at_once(text: str, sizes: list[int]) -> None:
    cleaner, out, place, turn = Cleaner(), "", 0, 0
    while place < len(text):
        size = sizes[turn % len(sizes)]
        out += cleaner.feed(text[place : place + size])
        place, turn = place + size, turn + 1
    assert out + cleaner.end() == clean(text)


@given(st.text(st.characters(codec=None, categories=None), max_size=50))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    out = clean(text)
    out.encode()
    assert not [
        c for c in out if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E
    ]


@pytest.mark.parametrize(
    ("text", "width", "cut"), [("abcdef", 4, "abc…"), ("日本語", 5, "日本…"), ("ab", 4, "ab"), ("ab", 1, "…")]
)
def test_fit(text: str, width: int, cut: str) -> None:
    assert fit(text, width) == cut
