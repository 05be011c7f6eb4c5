"""From which width on diffs are shown side by side."""

from __future__ import annotations

import sys

from pool.config.interface import DiffView
from pool.tui.transcript.block import SIDE_BY_SIDE_CELLS

LEAST_SIDE_CELLS = 60
"""With less room each side of a diff would show hardly a word."""

DIFF_CELLS = {DiffView.AUTO: SIDE_BY_SIDE_CELLS, DiffView.SIDE: LEAST_SIDE_CELLS, DiffView.UNIFIED: sys.maxsize}
"""The room from which on diffs are side by side."""
