"""What blocks are laid out to: lines of styled text that know what a copy of them says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

Run = tuple[str, Style]
"""Clean text without line ends, and its style."""


@dataclass(slots=True, eq=False)
class Line:
    """One row of the screen.

    gutter: how many characters at the start are no text (marks, numbers, bars). joiner: None if the text's line ends
    here, else what stood where it was wrapped. whole: what a copy of several lines takes for this one, where the
    picture is not the text; lead: what it puts before the text (a list's mark). fill: the style of the rest of the
    row. action: what a click does: "fold", or "fold:N" (part N of the block). spots: parts of the row, as its
    characters, where a click does something else: "copy:N".
    """

    segments: list[Segment]
    gutter: int = 0
    joiner: str | None = None
    whole: str | None = None
    lead: str = ""
    fill: Style | None = None
    action: str = ""
    spots: Sequence[tuple[int, int, str]] = ()
    _strip: Strip | None = field(default=None, repr=False)
    _key: tuple[int, Segment, Style] | None = field(default=None, repr=False)

    @property
    def drawn(self) -> str:
        """Everything on the row, gutter and all."""
        return "".join([s.text for s in self.segments])

    @property
    def text(self) -> str:
        """The row's text, without the gutter."""
        return self.drawn[self.gutter :]

    def strip(self, width: int, margin: Segment, base: Style) -> Strip:
        """The row as width cells on the style base, margin before it; made once."""
        strip, key = self._strip, (width, margin, base)
        if strip is None or self._key != key:
            strip = self._strip = drawn([margin, *self.segments], width, base, self.fill)
            self._key = key
        return strip


def drawn(segments: Sequence[Segment], width: int, base: Style, fill: Style | None) -> Strip:
    """Segments on a base style as a strip of width cells, the rest of the row in fill."""
    laid = [Segment(text, base + style if style else base) for text, style, _ in segments if text]
    strip = Strip(Segment.simplify(laid))
    return strip.adjust_cell_length(width, base + fill if fill else base)


def line(*runs: Run, gutter: int = 0, fill: Style | None = None, action: str = "", whole: str | None = None) -> Line:
    """A row of runs as they are. With an empty whole, a copy of several rows leaves it out."""
    joiner = "" if whole == "" else None
    return Line([Segment(text, style) for text, style in runs], gutter, joiner, whole, fill=fill, action=action)


def prefixed(lines: Sequence[Line], first: Sequence[Run], rest: Sequence[Run]) -> Sequence[Line]:
    """Put runs before lines, in place: first before the first one, rest before the others. They are gutter."""
    for number, row in enumerate(lines):
        before = rest if number else first
        row.segments[:0] = [Segment(text, style) for text, style in before]
        row.gutter += sum(len(text) for text, _ in before)
    return lines
