"""Plain text and command output as rows: only a terminal's colours are understood, everything else is shown as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.color import Color
from rich.style import Style

from pool.facekit.clean import clean, cut, expand
from pool.tui.transcript.block import Layout
from pool.tui.transcript.lines import Line, Run, line
from pool.tui.transcript.wrap import wrap

MOST_ROWS_OF_LINE = 40
"""A line of output that takes more rows is cut in view."""

ESCAPE_SHARE = 4
"""How much longer a line may be if it has escape sequences, before it is cut."""

_CSI = re.compile(r"\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[()][0-9A-Za-z]|\x1b[=>78DEHM]|[^\x08]\x08|\x1b\[?\Z")
_ATTRIBUTES: dict[int, Style] = {
    1: Style(bold=True),
    2: Style(dim=True),
    3: Style(italic=True),
    4: Style(underline=True),
    7: Style(reverse=True),
    9: Style(strike=True),
    22: Style(bold=False, dim=False),
    23: Style(italic=False),
    24: Style(underline=False),
    27: Style(reverse=False),
    29: Style(strike=False),
    39: Style(color="default"),
    49: Style(bgcolor="default"),
}
_BASIC = 8
"""Colours in each of the two basic sets of a terminal."""


def text_rows(text: str, at: Layout, style: Style) -> list[Line]:
    """The rows of clean plain text."""
    rows: list[Line] = []
    for source in text.split("\n"):
        rows += wrap([(expand(cut(source)), style)], at.width)
    return rows


def output_rows(lines: Sequence[str], at: Layout, style: Style) -> list[Line]:
    """The rows of lines of command output, as they came. A carriage return begins its line anew."""
    rows: list[Line] = []
    colour = Style.null()
    for source in lines:
        runs, colour = coloured_runs(source, style, colour, at.width * MOST_ROWS_OF_LINE)
        rows += wrap(runs, at.width) if runs else [line()]
    return rows


def coloured_runs(source: str, base: Style, colour: Style, most: int) -> tuple[list[Run], Style]:
    """One line of output as runs on base, cut to most characters; colour is what was set before it, and after it."""
    source = source.rstrip("\r").rpartition("\r")[2]
    if "\x1b" not in source and "\x08" not in source:
        text = expand(clean(cut(source, most)))
        return ([(text, base + colour)] if text else []), colour
    source = cut(source, most * ESCAPE_SHARE)
    runs: list[Run] = []
    place = 0
    for match in _CSI.finditer(source):
        if match.start() > place:
            runs.append((expand(clean(cut(source[place : match.start()], most))), base + colour))
        place = match.end()
        if match[2] == "m":
            colour = _sgr(match[1], colour)
        if place > most:
            break
    if rest := source[place:]:
        runs.append((expand(clean(cut(rest, most))), base + colour))
    return [r for r in runs if r[0]], colour


def _sgr(parameters: str, style: Style) -> Style:
    """style after a "select graphic rendition" sequence."""
    if not all(c in "0123456789;:" for c in parameters):
        return style
    numbers = [int(n[:4]) if n else 0 for n in parameters.replace(":", ";").split(";")]
    while numbers:
        match numbers:
            case [0, *rest]:
                style, numbers = Style.null(), rest
            case [38 | 48 as ground, 5, number, *rest]:
                style, numbers = style + _ground(ground == 38, Color.from_ansi(min(number, 255))), rest
            case [38 | 48 as ground, 2, red, green, blue, *rest]:
                colour = Color.from_rgb(min(red, 255), min(green, 255), min(blue, 255))
                style, numbers = style + _ground(ground == 38, colour), rest
            case [number, *rest]:
                style, numbers = style + _simple(number), rest
            case _:
                break
    return style


def _ground(fore: bool, colour: Color) -> Style:
    return Style(color=colour) if fore else Style(bgcolor=colour)


def _simple(number: int) -> Style:
    for start, fore, offset in ((30, True, 0), (40, False, 0), (90, True, _BASIC), (100, False, _BASIC)):
        if start <= number < start + _BASIC:
            return _ground(fore, Color.from_ansi(number - start + offset))
    return _ATTRIBUTES.get(number, Style.null())
