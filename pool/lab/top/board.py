"""The dashboard as rows of text with roles: the interface colours them, `--once` prints them plain."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pool.lab.bench.bars import Bar, bar_lines
from pool.lab.top.gauges import Readings
from pool_tools.text import visible

LABEL = 14
FIGURE = 12
FULL_SHARE = 0.9
"""Use of the cache above which requests are soon thrown out of it."""

_LEVELS = " ▁▂▃▄▅▆▇█"
_PLAIN_LEVELS = " .:-=+*#@"


class Role(StrEnum):
    """What a piece of text is, for its colour."""

    LABEL = "label"
    TEXT = "text"
    BAR = "bar"
    MUTED = "muted"
    GOOD = "good"
    WARNING = "warning"
    ERROR = "error"


Row = tuple[tuple[str, Role], ...]


@dataclass(frozen=True, slots=True)
class Server:
    """What is looked at: its address and what it said of itself. away: for how many seconds nothing has answered."""

    address: str
    name: str = ""
    away: float = 0.0
    trouble: str = ""


def board(
    server: Server, now: Readings | None, history: Sequence[float], width: int, *, unicode: bool = True
) -> list[Row]:
    """All rows, at most width columns wide. history: speeds of writing, the latest last."""
    rows: list[Row] = [((visible(server.address)[:width], Role.TEXT),)]
    rows += [((visible(server.name)[:width], Role.MUTED),)] if server.name else []
    rows.append(())
    if server.trouble:
        away = f"nothing for {server.away:.0f} s: " if server.away >= 1 else ""
        rows += [((line, Role.ERROR),) for line in textwrap.wrap(visible(f"{away}{server.trouble}"), width)]
        rows.append(())
    if now is None:
        return rows
    rows += [_requests(now), ()]
    rows += _shares(now, width, unicode=unicode)
    rows += [(), _rate("writing", now.write_rate, history, width, unicode=unicode)]
    rows += [_rate("reading", now.read_rate, (), width, unicode=unicode), ()]
    rows += _speculation(now, width, unicode=unicode)
    return rows


def plain(row: Row) -> str:
    """A row as text."""
    return "".join(text for text, _ in row).rstrip()


def _requests(now: Readings) -> Row:
    waits = Role.WARNING if now.waiting else Role.TEXT
    out: list[tuple[str, Role]] = [
        ("running".ljust(LABEL), Role.LABEL),
        (_count(now.running).ljust(6), Role.TEXT),
        ("waiting ", Role.LABEL),
        (_count(now.waiting).ljust(6), waits),
    ]
    if now.preempted is not None:
        lately = f" ({now.lately_preempted:,} in the last {now.window:.0f} s)" if now.lately_preempted else ""
        out += [
            ("preempted ", Role.LABEL),
            (f"{now.preempted:,}{lately}", Role.WARNING if lately else Role.TEXT),
        ]
    return tuple(out)


def _shares(now: Readings, width: int, *, unicode: bool) -> list[Row]:
    full = now.usage is not None and now.usage >= FULL_SHARE
    return [
        _share("cache in use", now.usage, Role.WARNING if full else Role.BAR, width, unicode=unicode),
        _share("cache hits", now.hits, Role.GOOD, width, unicode=unicode),
    ]


def _share(label: str, value: float | None, role: Role, width: int, *, unicode: bool) -> Row:
    if value is None:
        return (label.ljust(LABEL), Role.LABEL), ("not told", Role.MUTED)
    room = max(4, width - LABEL - FIGURE)
    whole = round(room * min(1.0, max(0.0, value)))
    full, empty = ("█", "░") if unicode else ("#", ".")
    return (
        (label.ljust(LABEL), Role.LABEL),
        (f"{value:>7.1%}".ljust(FIGURE), Role.TEXT),
        (full * whole, role),
        (empty * (room - whole), Role.MUTED),
    )


def _rate(label: str, value: float | None, history: Sequence[float], width: int, *, unicode: bool) -> Row:
    shown = "not yet known" if value is None else f"{value:,.1f} tok/s"
    figure = shown.rjust(FIGURE + 2)
    levels = _LEVELS if unicode else _PLAIN_LEVELS
    recent = list(history)[-max(4, width - LABEL - len(figure) - 2) :]
    most = max(recent, default=0.0) or 1.0
    line = "".join(levels[round((len(levels) - 1) * speed / most)] for speed in recent)
    return (label.ljust(LABEL), Role.LABEL), (f"{figure}  ", Role.TEXT), (line, Role.BAR)


def _speculation(now: Readings, width: int, *, unicode: bool) -> list[Row]:
    drafted = now.speculation
    if drafted is None:
        if now.length:
            words = f"{now.length:.2f} tokens a step (bonus included), as the server says; it counts no places"
            return [(("drafts".ljust(LABEL), Role.LABEL), (words[: width - LABEL], Role.TEXT))]
        return [(("drafts".ljust(LABEL), Role.LABEL), ("none", Role.MUTED))]
    kept = f"{drafted.drafts_only:.2f} kept a step (drafts only), {drafted.with_bonus:.2f} tokens a step"
    words = f"K = {drafted.depth}: {kept}"
    rows: list[Row] = [(("drafts".ljust(LABEL), Role.LABEL), (words[: width - LABEL], Role.TEXT))]
    if not drafted.accepted:
        return [*rows, (("none was kept: the draft does not fit this model", Role.ERROR),)]
    bars = [Bar(f"place {at}", share, f"{share:.1%}") for at, share in enumerate(drafted.curve, 1)]
    return rows + [((line, Role.BAR),) for line in bar_lines(bars, width, unicode=unicode)]


def _count(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
