"""The frame that all panels of this folder have: the whole window, a title, a row of keys."""

from __future__ import annotations

from typing import TypeVar

from textual.screen import ModalScreen

from pool.tui.resizing import LastSize

NARROW_COLUMNS = 60
"""Below this the descriptions of a panel are left out."""

FRAME_CSS = """
    {name} > Vertical {{
        width: 100%; height: 100%; border: round $border-focused; background: $surface;
        border-title-color: $accent; border-subtitle-color: $muted;
    }}
"""

Result = TypeVar("Result")


class PanelScreen(LastSize, ModalScreen[Result]):
    """A panel that may have something of its own to close before Esc closes it."""

    def escaped(self) -> bool:
        """Take Esc; False where it means to close the panel."""
        return False


def frame_css(name: str) -> str:
    """The style sheet of the frame for a screen of that class."""
    return FRAME_CSS.format(name=name)
