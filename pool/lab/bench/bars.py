"""Bars of text."""

from __future__ import annotations

from collections.abc import Sequence

from pool_tools.frozen import frozen

_EIGHTHS = " ▏▎▍▌▋▊▉█"


@frozen
class Bar:
    """One bar: what it stands for, its length, the figure as it is written, and whether it was measured."""

    label: str
    value: float
    shown: str
    measured: bool = True


def bar_lines(bars: Sequence[Bar], width: int, *, unicode: bool = True) -> list[str]:
    """A line for each bar, at most width columns; predicted ones are drawn lightly. Labels stand on the left."""
    if not bars:
        return []
    labels = max(len(bar.label) for bar in bars)
    figures = max(len(bar.shown) for bar in bars)
    room = max(4, width - labels - figures - 4)
    most = max(bar.value for bar in bars) or 1.0
    drawn = [_drawn(bar, room * bar.value / most, unicode=unicode) for bar in bars]
    return [
        f"  {bar.label:>{labels}} {bar.shown:>{figures}} {line}".rstrip() for bar, line in zip(bars, drawn, strict=True)
    ]


def _drawn(bar: Bar, columns: float, *, unicode: bool) -> str:
    whole = max(0, int(columns))
    if not unicode:
        return ("#" if bar.measured else "-") * round(max(0.0, columns))
    if not bar.measured:
        return "░" * round(max(0.0, columns))
    return (_EIGHTHS[-1] * whole + _EIGHTHS[int((columns - whole) * 8)]).rstrip()
