"""Bars and small plots out of block characters, as rows."""

from __future__ import annotations

from collections.abc import Sequence

from pool.tui.screens.linelist import Row, Run

EIGHTHS = " ▁▂▃▄▅▆▇█"
LEFT_EIGHTHS = " ▏▎▍▌▋▊▉█"
PLOT_ROWS = 4
MOST_COLUMN_CELLS = 3
"""So wide a column is where there are few values."""

AXIS_COLUMNS = 9


def bar(share: float, cells: int) -> str:
    """A bar of a share from 0 to 1 of so many cells; what is not nothing has at least a sliver."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    if share > 0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (LEFT_EIGHTHS[rest] if rest else "")


def stacked(shares: Sequence[tuple[float, str]], cells: int) -> tuple[Run, ...]:
    """Shares of a whole, each with its role, side by side; the fill alternates, since colours may be missing."""
    out: list[Run] = []
    done = 0.0
    used = 0
    for number, (share, role) in enumerate(shares):
        done += share
        upto = min(cells, max(round(done * cells), used + (share > 0)))
        out.append((("█", "▓")[number % 2] * (upto - used), role))
        used = upto
    return (*out, ("░" * (cells - used), "border"))


def plot(values: Sequence[float], width: int, role: str, *, digits: int = 0, top: float = 0.0) -> list[Row]:
    """Values as columns over time, in `PLOT_ROWS` rows with the scale at the left; top 0: the largest value."""
    room = max(8, width - AXIS_COLUMNS - 1)
    points = _fitted(values, room)
    most = top or max(points, default=0.0) or 1.0
    each = max(1, min(MOST_COLUMN_CELLS, room // max(1, len(points))))
    out: list[Row] = []
    for row in reversed(range(PLOT_ROWS)):
        label = f"{most:,.{digits}f}" if row == PLOT_ROWS - 1 else "0" if row == 0 else ""
        cells = "".join(EIGHTHS[_eighths(value / most, row)] * each for value in points)
        out.append(Row(((f"{label:>{AXIS_COLUMNS - 2}} ", "muted"), ("┤", "border"), (cells, role))))
    return out


def _eighths(share: float, row: int) -> int:
    return min(8, max(0, round(share * PLOT_ROWS * 8) - row * 8))


def _fitted(values: Sequence[float], most: int) -> list[float]:
    """At most so many values: neighbours become their mean, so that the last one is the newest."""
    if len(values) <= most:
        return list(values)
    step = len(values) / most
    parts = [values[int(n * step) : max(int(n * step) + 1, int((n + 1) * step))] for n in range(most)]
    return [sum(part) / len(part) for part in parts]
