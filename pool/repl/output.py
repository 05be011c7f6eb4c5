"""prompt-toolkit's output, changed for lines that come while somebody types."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Attrs


class LineOutput(Vt100_Output):
    """Erasing, lines and the new prompt go out in one write, so that nothing flickers and no key falls between.

    It never asks the terminal where the cursor is: over a slow link the answer would be typed into the prompt, and a
    serial console gives none. Pastes stay marked from the first prompt to `last_words`. Without colours it writes no
    SGR sequence at all.
    """

    def __init__(self, stream: TextIO, term: str, *, colours: bool) -> None:
        sized = Vt100_Output.from_pty(stream, term=term)
        depth = ColorDepth.DEPTH_4_BIT if colours else ColorDepth.DEPTH_1_BIT
        super().__init__(stream, sized.get_size, term=term, default_color_depth=depth, enable_cpr=False)
        self._colours = colours
        self._held = False
        self._ends = False

    @contextmanager
    def together(self) -> Generator[None]:
        """What is written inside goes out at the end, at once."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self.flush()

    def flush(self) -> None:
        if not self._held:
            super().flush()

    def set_attributes(self, attrs: Attrs, color_depth: ColorDepth) -> None:
        if self._colours:
            super().set_attributes(attrs, color_depth)

    def reset_attributes(self) -> None:
        if self._colours:
            super().reset_attributes()

    def disable_bracketed_paste(self) -> None:
        if self._ends:
            super().disable_bracketed_paste()

    @contextmanager
    def given_away(self) -> Generator[None]:
        """The terminal is another program's inside."""
        self._ends = True
        super().disable_bracketed_paste()
        self.flush()
        try:
            yield
        finally:
            self._ends = False

    def last_words(self) -> None:
        """The terminal is the shell's again."""
        self._ends = True
        super().disable_bracketed_paste()
        self.flush()
