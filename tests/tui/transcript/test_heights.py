"""Sums of heights, and the store of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.heights import Heights
from pool.tui.transcript.lines import Line, line
from pool.tui.transcript.store import KEPT_ROWS, Store
from tests.tui.transcript.kit import LOOK, at


@given(
    st.lists(st.integers(0, 9), max_size=40), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=20)
)
def test_heights_are_like_a_list(heights: list[int], changes: list[tuple[int, int]]) -> None:
    half = len(heights) // 2
    tree = Heights(heights[:half])
    for height in heights[half:]:
        tree.append(height)
    for index, height in changes:
        if index < len(heights):
            assert tree.set(index, height) == height - heights[index]
            heights[index] = height
    assert tree.total == sum(heights)
    assert [tree.top(i) for i in range(len(heights) + 1)] == [sum(heights[:i]) for i in range(len(heights) + 1)]
    rows = [(i, offset) for i, height in enumerate(heights) for offset in range(height)]
    assert [tree.locate(row) for row in range(len(rows))] == rows


class Rows(Block):
    """So many rows, and a wrong estimate."""

    def __init__(self, count: int, guess: int) -> None:
        self.count = count
        self._guess = guess
        self.made = 0

    def layout(self, at: Layout) -> Sequence[Line]:
        self.made += 1
        return [line((f"{self.count}:{number}", LOOK.text)) for number in range(self.count)]

    def source(self, part: int = 0) -> str:
        return ""

    def estimate(self, width: int) -> int:
        return self._guess


def filled(*sizes: tuple[int, int]) -> Store:
    store = Store()
    store.set_layout(at())
    for count, guess in sizes:
        store.add(Rows(count, guess), open_=False)
    return store


def text_at(store: Store, row: int) -> str:
    found = store.line(row)
    if found is None:
        return "end"
    entry, number = found
    return store.rows(entry)[number].drawn if number >= 0 else "gap"


def test_only_what_shows_is_laid_out() -> None:
    store = filled(*[(10, 5)] * 1000)
    store.settle_end(24)
    assert sum(entry.rows is not None for entry in store.entries) == 3
    assert store.heights.total == 997 * 6 - 1 + 3 * 11


SIZES = st.one_of(st.tuples(st.integers(1, 12), st.integers(1, 12)), st.just((0, 0)))
"""What shows nothing knows so beforehand."""


@given(st.lists(SIZES, min_size=1, max_size=30), st.integers(0, 200))
def test_going_up_by_a_row_shows_the_row_above(sizes: list[tuple[int, int]], start: int) -> None:
    """Heights that turn out otherwise above the view do not make it jump."""
    store = filled(*sizes)
    store.settle_end(5)
    row = max(0, min(start, store.heights.total - 5))
    row = store.settle(row, 5)
    while row:
        below = [text_at(store, r) for r in range(row, row + 4)]
        row = store.settle(row - 1, 5)
        assert [text_at(store, r) for r in range(row + 1, row + 5)] == below


def test_rows_of_old_blocks_are_forgotten_and_made_again() -> None:
    store = filled(*[(100, 100)] * (KEPT_ROWS // 100 + 50))
    for entry in store.entries:
        store.rows(entry)
    assert sum(len(entry.rows or ()) for entry in store.entries) == KEPT_ROWS
    assert store.entries[0].rows is None
    total = store.heights.total
    assert len(store.rows(store.entries[0])) == 100
    assert store.heights.total == total
