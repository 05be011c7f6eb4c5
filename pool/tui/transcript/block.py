"""What a block of the transcript is: something that lays itself out for a width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pool.tui.transcript.lines import Line
from pool.tui.transcript.palette import Palette
from pool_tools.frozen import frozen

SIDE_BY_SIDE_CELLS = 112
"""With this much room both sides of a diff stand beside each other: a terminal of 120 columns less the margins."""


@frozen
class Layout:
    """What rows depend on besides the block: width in cells (at least 2), styles, and the monotonic time.

    diff_cells: from this width on diffs are side by side.
    """

    width: int
    palette: Palette
    now: float = 0.0
    diff_cells: int = SIDE_BY_SIDE_CELLS

    def narrower(self, cells: int) -> Layout:
        """The same with less room."""
        return replace(self, width=max(2, self.width - cells))


class Block:
    """One entry of the transcript. Only the transcript that holds it calls its methods after it was added."""

    is_prompt = False
    """Whether jumping from prompt to prompt halts here."""

    is_live = False
    """Whether it shows a time that runs, so that it is drawn anew each second."""

    is_tight = False
    """Whether no empty row parts it from a tight neighbour."""

    bar = False
    """Whether the mark of a user's prompt stands beside it."""

    @property
    def parts(self) -> int:
        """How many parts of its own it has, code blocks; numbered from 1 and known once it is laid out."""
        return 0

    def append(self, text: str) -> None:
        """Take more text of a stream."""
        raise TypeError(f"{type(self).__name__} takes no stream of text")

    def finish(self) -> None:
        """Nothing more comes."""

    def layout(self, at: Layout) -> Sequence[Line]:
        """The rows. Called when the block changed, or when its rows were forgotten."""
        raise NotImplementedError

    def fold(self, part: int, folded: bool | None) -> bool:
        """Fold or open part (0: the block itself, else a code block in it); None turns it. False if it cannot."""
        return False

    @property
    def is_folded(self) -> bool:
        """Whether the block hides rows that `fold` would show."""
        return False

    def source(self, part: int = 0) -> str:
        """The whole text as it came, made clean; of part where the block has parts. What copying it gives."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget what `layout` kept for itself; the block is finished."""

    def estimate(self, width: int) -> int:
        """About how many rows it has, quickly."""
        text = self.source()
        return max(1, text.count("\n") + 1 + len(text) // max(1, width))
