"""Statistics of a session: its course as small plots, then its figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from pool.sessions.figures import Figures
from pool.sessions.report import report
from pool.sessions.turnseries import RequestPoint
from pool.tui.screens.bars import plot
from pool.tui.screens.linelist import Row
from pool.tui.screens.report import BLANK, facts, heading

DIGITS, DIGITS_BELOW = 2, 10
"""Values are shown with so many digits where all are below so much."""

BESIDE_COLUMNS = 100
"""From this width on two plots stand side by side."""


def stats_rows(points: Sequence[RequestPoint], figures: Figures, width: int) -> Sequence[Row]:
    """The panel for a width in cells."""
    rows: list[Row] = []
    if points:
        speeds = [point.speed for point in points if point.speed]
        rows += _plots(
            ("tokens a second", speeds, "accent", 0.0),
            ("tokens of context", [float(p.context) for p in points], "user", 0.0),
            width,
        )
        told = any(point.cached for point in points)
        rows += _plots(
            ("percent of the prompt cached", [100 * p.cached for p in points] if told else [], "success", 100.0),
            ("seconds to the first token", [p.first_token_seconds for p in points], "warning", 0.0),
            width,
        )
    return [*rows, *facts(report(figures, 1)[1:], width)]


_Plot = tuple[str, Sequence[float], str, float]


def _plots(left: _Plot, right: _Plot, width: int) -> list[Row]:
    if width < BESIDE_COLUMNS:
        return [*_plotted(left, width), BLANK, *_plotted(right, width), BLANK]
    half = width // 2 - 1
    pairs = zip_longest(_plotted(left, half), _plotted(right, half), fillvalue=BLANK)
    return [*(_beside(a, b, half) for a, b in pairs), BLANK]


def _plotted(what: _Plot, width: int) -> list[Row]:
    title, values, role, top = what
    if not values:
        return [heading(f"{title}: not told")]
    digits = DIGITS if not top and max(values) < DIGITS_BELOW else 0
    return [heading(f"{title}: last {values[-1]:,.{digits}f}"), *plot(values, width, role, digits=digits, top=top)]


def _beside(left: Row, right: Row, half: int) -> Row:
    used = sum(len(text) for text, _ in left.runs)
    return Row((*left.runs, (" " * max(2, half + 2 - used), "text"), *right.runs))
