"""A block that shows nothing: what was here was taken back."""

from __future__ import annotations

from collections.abc import Sequence

from pool.tui.transcript.block import Block, Layout
from pool.tui.transcript.lines import Line


class Gone(Block):
    """Nothing."""

    is_tight = True

    def layout(self, at: Layout) -> Sequence[Line]:
        return []

    def source(self, part: int = 0) -> str:
        return ""

    def estimate(self, width: int) -> int:
        return 0
