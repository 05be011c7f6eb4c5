"""Wrapping styled text to a width in cells: at blanks, between wide characters, else anywhere between graphemes."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from rich.cells import cell_len, get_character_cell_size, split_graphemes
from rich.segment import Segment
from rich.style import Style

from pool.tui.transcript.lines import Line, Run

_NOT_FIRST = frozenset("、。，．：；！？）」』】〉》”’ー々…・ぁぃぅぇぉっゃゅょァィゥェォッャュョ")
"""Characters that no row begins with, where that can be helped (common rules of Japanese and Chinese typesetting)."""

_STRAY_JOINER = re.compile("(?<![^\x00-\x7f\u200d])\u200d")
"""Joiners that join nothing; their widths are told differently by all."""

Span = tuple[int, int, int]
"""Start and end of a row's text, and where the next row's begins: what lies between is the blank of the break."""


_Part = tuple[int, int]


def wrap(runs: Sequence[Run], width: int, fill: Style | None = None) -> list[Line]:
    """The rows of one line of text, at least one; none is wider than width (at least 2)."""
    text = "".join([t for t, _ in runs])
    if "\u200d" in text:
        runs = [(_STRAY_JOINER.sub("", t), s) for t, s in runs]
        text = "".join([t for t, _ in runs])
    if (len(text) <= width and text.isascii()) or cell_len(text) <= width:
        return [Line([Segment(t, s) for t, s in runs], fill=fill)]
    rows: list[Line] = []
    pieces = _sliced(runs)
    next(pieces)
    for start, end, after in breaks(text, max(2, width)):
        joiner = text[end:after] if after < len(text) else None
        rows.append(Line(pieces.send((start, end)), joiner=joiner, fill=fill))
    return rows


def breaks(text: str, width: int) -> list[Span]:
    """Where the rows of text are; they cover it, blanks at breaks apart."""
    return _narrow(text, width) if text.isascii() else _wide(text, width)


def _narrow(text: str, width: int) -> list[Span]:
    spans: list[Span] = []
    at, length = 0, len(text)
    while length - at > width:
        cut = text.rfind(" ", at, at + width + 1)
        end = at + len(text[at:cut].rstrip(" ")) if cut > at else at
        if end == at:
            spans.append((at, at + width, at := at + width))
            continue
        after = length - len(text[cut:].lstrip(" ")) if text[cut : cut + 2] == "  " else cut + 1
        spans.append((at, end, after))
        at = after
    if at < length or not spans:
        spans.append((at, length, length))
    return spans


def _wide(text: str, width: int) -> list[Span]:
    spans: list[Span] = []
    graphemes, _ = split_graphemes(text)
    start = used = 0
    good: tuple[int, int, int] | None = None  # end, after, cells up to after
    previous_wide = False
    for begin, end, cells in graphemes:
        first = text[begin]
        if first == " ":
            if good is not None and good[1] == begin:
                good = (good[0], end, used + cells)
            elif used:
                good = (begin, end, used + cells)
            previous_wide = False
        else:
            wide = cells == 2
            if used and (wide or previous_wide) and first not in _NOT_FIRST and text[begin - 1] != " ":
                good = (begin, begin, used)
            previous_wide = wide
            if used + cells > width:
                if good is None:
                    good = (begin, begin, used)
                if good[0] > start:
                    spans.append((start, *good[:2]))
                    start, used = good[1], used - good[2]
                good = None
                if used + cells > width and begin > start:
                    spans.append((start, begin, begin))
                    start, used = begin, 0
        used += cells
    end = len(text.rstrip(" ")) if used > width else len(text)
    if start < len(text) or not spans:
        spans.append((start, max(start, end), len(text)))
    return spans


def _sliced(runs: Sequence[Run]) -> Generator[list[Segment], _Part, None]:
    """A generator that is sent (start, end) spans of the runs' text in ascending order and yields their segments."""
    number = offset = 0
    segments: list[Segment] = []
    while True:
        start, end = yield segments
        segments = []
        while number < len(runs):
            text, style = runs[number]
            low, high = max(start - offset, 0), end - offset
            if low < len(text) and high > low:
                segments.append(Segment(text[low:high], style))
            if high <= len(text):
                break
            offset += len(text)
            number += 1


def fit(text: str, width: int) -> str:
    """Text cut to width cells, with … where something is left out."""
    if cell_len(text) <= width:
        return text
    used = 0
    for begin, _, cells in split_graphemes(text[: 4 * width + 4])[0]:
        if used + cells > width - 1:
            return text[:begin] + "…" if width > 0 else ""
        used += cells
    return text


def is_wide(character: str) -> bool:
    """Whether a character takes two cells."""
    return get_character_cell_size(character) == 2
