"""Tables of commands fit the window: cells go on below, and no word is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pool.agent.commands import Rows
from pool.facekit.answers import table_lines

TABLE = Rows(
    ("command", "what it does"),
    (("/diff [run|session|worktree]", "what the last prompt or the session changed"), ("/quit", "leave")),
)


def test_a_wide_table_is_fitted() -> None:
    assert table_lines(TABLE, 50) == [
        "command                   what it does",
        "/diff                     what the last prompt or",
        "[run|session|worktree]    the session changed",
        "/quit                     leave",
    ]


def test_a_table_that_fits_stays_as_it_is() -> None:
    assert table_lines(TABLE, 200) == table_lines(TABLE)
    assert table_lines(TABLE, 3) == table_lines(TABLE)


cells = st.text(alphabet="ab 設-", max_size=40)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4), st.integers(20, 60))
def test_rows_fit_and_keep_their_words(rows: list[tuple[str, str]], width: int) -> None:
    lines = table_lines(Rows(("", ""), tuple(rows)), width)
    assert all(cell_len(line) <= width for line in lines)
    said = sorted("".join(lines).replace(" ", ""))
    assert said == sorted("".join(a + b for a, b in rows).replace(" ", ""))
