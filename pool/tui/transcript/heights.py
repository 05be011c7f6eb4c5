"""How high the blocks are, summed: where a block begins and which one a row belongs to, in logarithmic time."""

from __future__ import annotations

from collections.abc import Iterable


class Heights:
    """A list of heights in rows with fast sums (a binary indexed tree)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        count = len(self._heights)
        self._tree = [0, *self._heights]
        for place in range(1, count + 1):
            above = place + (place & -place)
            if above <= count:
                self._tree[above] += self._tree[place]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """All rows."""
        return self.top(len(self._heights))

    def append(self, height: int) -> None:
        """Add one at the end."""
        self._heights.append(height)
        place = len(self._heights)
        below = place - (place & -place)
        self._tree.append(self.top(place - 1) - self.top(below) + height)

    def set(self, index: int, height: int) -> int:
        """Change one; gives the difference."""
        change = height - self._heights[index]
        if change:
            self._heights[index] = height
            place = index + 1
            while place < len(self._tree):
                self._tree[place] += change
                place += place & -place
        return change

    def top(self, index: int) -> int:
        """The first row of the block at index: the sum of those before it."""
        total = 0
        while index:
            total += self._tree[index]
            index -= index & -index
        return total

    def locate(self, row: int) -> tuple[int, int]:
        """Which block a row belongs to, and the row's number in it. A row beyond the end gives the last block's end."""
        count = len(self._heights)
        place, step = 0, 1 << max(0, count.bit_length() - 1)
        left = max(0, row)
        while step:
            following = place + step
            if following <= count and self._tree[following] <= left:
                place, left = following, left - self._tree[following]
            step >>= 1
        return (place, left) if place < count else (max(0, count - 1), self._heights[-1] if count else 0)
