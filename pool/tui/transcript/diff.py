"""Diffs as rows: side by side where there is room, else one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.segment import Segment
from rich.style import Style

from pool.facekit.clean import clean, cut, expand
from pool.tui.transcript.block import Layout
from pool.tui.transcript.diffparse import DiffLine, in_order, pairs, parse
from pool.tui.transcript.lines import Line, Run, line, prefixed
from pool.tui.transcript.palette import Palette
from pool.tui.transcript.wrap import wrap

MOST_LINES = 3_000
"""Lines of a diff that are shown."""


def diff_rows(text: str, at: Layout) -> list[Line]:
    """The rows of a unified diff."""
    found = parse(clean(text))
    if found and found[0].sign == "@" and found[0].number <= 1 and not found[0].text:
        found = found[1:]
    hidden = len(found) - MOST_LINES
    rows = pairs(found[:MOST_LINES])
    digits = max([len(str(entry.number)) for entry in found] or [1])
    if at.width >= at.diff_cells and any(a is not b and a and b for a, b in rows):
        out = [row for old, new in rows for row in _beside(old, new, digits, at)]
    else:
        out = [row for entry in in_order(rows) for row in _below(entry, digits, at)]
    if hidden > 0:
        out.append(line((f"… {hidden:,} more lines", at.palette.muted), whole=""))
    return out


def _below(entry: DiffLine, digits: int, at: Layout) -> list[Line]:
    look = at.palette
    if entry.sign == "@":
        return [_hunk(entry, digits, at)]
    style, word = _styles(entry.sign, look)
    rows = wrap(_runs(entry, style, word), at.narrower(digits + 3).width, style)
    number = f"{entry.number:>{digits}} "
    first = [(number, style + look.muted), (f"{entry.sign} ", style)]
    prefixed(rows, first, [(" " * (digits + 3), style)])
    _keep_signs(rows, entry)
    return rows


def _beside(old: DiffLine | None, new: DiffLine | None, digits: int, at: Layout) -> list[Line]:
    look = at.palette
    if new is not None and new.sign == "@":
        return [_hunk(new, digits, at)]
    half = (at.width - 1) // 2
    before = replace(old, number=old.old) if old is not None and old is new else old
    left, right = _half(before, half, digits, at), _half(new, half, digits, at)
    out: list[Line] = []
    for number in range(max(len(left), len(right))):
        segments = [*_at(left, number, half), Segment("│", look.border), *_at(right, number, half)]
        out.append(Line(segments, joiner="", whole=""))
    sides = [entry for entry in ((new,) if old is new else (old, new)) if entry]
    out[0].whole = "\n".join(entry.sign + entry.text for entry in sides)
    out[-1].joiner = None
    return out


def _half(entry: DiffLine | None, width: int, digits: int, at: Layout) -> list[Line]:
    if entry is None:
        return []
    return _below(entry, digits, Layout(width, at.palette))


def _at(rows: Sequence[Line], number: int, width: int) -> list[Segment]:
    if number >= len(rows):
        return [Segment(" " * width)]
    row = rows[number]
    used = sum(s.cell_length for s in row.segments)
    return [*row.segments, Segment(" " * (width - used), row.fill)]


def _hunk(entry: DiffLine, digits: int, at: Layout) -> Line:
    style = at.palette.muted
    return line((" " * digits + " ⋯ ", style), (expand(cut(entry.text, at.width)), style), whole="")


def _styles(sign: str, look: Palette) -> tuple[Style, Style]:
    match sign:
        case "+":
            return look.added, look.added_word
        case "-":
            return look.removed, look.removed_word
        case _:
            return look.text, look.text


def _runs(entry: DiffLine, style: Style, word: Style) -> list[Run]:
    text, runs, place = cut(entry.text), list[Run](), 0
    for start, end in entry.words:
        runs += [(expand(text[place:start]), style), (expand(text[start:end]), word)]
        place = end
    runs.append((expand(text[place:]), style))
    return [run for run in runs if run[0]] or [("", style)]


def _keep_signs(rows: Sequence[Line], entry: DiffLine) -> None:
    """A copy of several rows is a piece of the diff, signs and all."""
    for row in rows:
        row.whole = ""
        row.joiner = ""
    rows[0].whole = entry.sign + entry.text
    rows[-1].joiner = None
