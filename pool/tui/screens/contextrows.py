"""The context meter: what fills the window, as bars; what the server has cached, and what broke the prefix last."""

from __future__ import annotations

from collections.abc import Sequence

from pool.agent.contextreport import ContextReport
from pool.agent.price import Price
from pool.tui.screens.bars import bar, stacked
from pool.tui.screens.linelist import Row
from pool.tui.screens.report import BLANK, facts, heading, wrapped

ROLES = {
    "system prompt": "accent",
    "AGENTS.md": "text",
    "tools": "tool",
    "MCP tools": "error",
    "conversation": "user",
    "tool results": "success",
    "reasoning": "reasoning",
}

NAME_CELLS, COUNT_CELLS, SHARE_CELLS = 15, 9, 7
LEAST_BAR_CELLS = 6


def context_rows(report: ContextReport, price: Price, width: int) -> Sequence[Row]:
    """The meter for a width in cells."""
    about = "" if report.counted else "about "
    head = f"{about}{report.tokens:,} tokens"
    if report.window:
        head += f" of {report.window:,}, {report.tokens / report.window:.0%} full"
    else:
        head += "; how large the window is, the server does not tell"
    rows = [
        *map(heading, wrapped(head, width)),
        Row(stacked([(p.share, _role(p.name)) for p in report.parts], width)),
        BLANK,
    ]
    free = max(0, report.window - report.tokens)
    most = max((part.share for part in report.parts), default=0.0)
    rows += [_part(p.name, p.tokens, p.share, p.share / most if most else 0.0, width) for p in report.parts]
    if report.window:
        rows.append(_part("free", free, free / report.window, 0.0, width))
    return [*rows, BLANK, *facts(_facts(report, price), width, NAME_CELLS)]


def _part(name: str, tokens: int, share: float, filled: float, width: int) -> Row:
    counts = f"{tokens:>{COUNT_CELLS},}{f'{share:.1%}':>{SHARE_CELLS}}  "
    cells = width - NAME_CELLS - len(counts)
    drawn = bar(filled, cells) if cells >= LEAST_BAR_CELLS else ""
    return Row(((f"{name:<{NAME_CELLS}}", "text"), (counts, "muted"), (drawn, _role(name))))


def _role(name: str) -> str:
    return ROLES.get(name, "muted")


def _facts(report: ContextReport, price: Price) -> list[tuple[str, str]]:
    cached = "not told by the server"
    if report.cached_share >= 0:
        cached = f"{report.cached_share:.0%} of the last prompt"
    broken = f"broke last at {report.last_break}" if report.last_break else "never broke"
    if report.unannounced:
        broken += f"; {report.unannounced} of {report.breaks} breaks were not on purpose: please report this"
    return [("cached", cached), ("prefix", broken), ("compacting", price.words if price.tokens else "costs nothing")]
