"""Statistics in words: the same lines for every face."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pool.sessions.figures import Figures

_STEPS = {
    "exact": "exact",
    "line_ends": "line ends",
    "trailing_blanks": "trailing blanks",
    "indentation": "indentation",
    "typography": "typographic",
}
"""Steps of `pool_tools.match`, as people read them; the loosest last."""

_OK = "ok"
_MINUTE, _HOUR = 60, 3600


def report(figures: Figures, sessions: int) -> list[tuple[str, str]]:
    """Label and value of each line; what never happened is left out. A label that is "" goes on with the one before."""
    f = figures
    ends = {name: count for name, count in f.ends.items() if name != "completed"}
    lines = [
        ("sessions", f"{sessions:,}"),
        ("prompts", f"{f.runs:,}{_listed(ends, before='; ended otherwise: ')}"),
        ("turns", f"{f.turns:,}"),
        ("tokens read", f"{f.prompt:,}{_share(f.cached, f.prompt, 'cached')}"),
        ("tokens written", f"{f.completion:,}{_share(f.reasoning, f.completion, 'reasoning')}"),
    ]
    if f.estimated:
        lines.append(("", f"{_share(f.estimated, f.requests, 'of the requests estimated').lstrip(', ')}"))
    lines += [
        ("reads", f"{rate(f.read_tokens, f.read_seconds)} tokens a second"),
        ("writes", f"{rate(f.written_tokens, f.written_seconds)} tokens a second"),
        ("time", duration(f.run_time)),
        *_times(f),
        *_tools(f),
    ]
    if f.steps:
        steps = {_STEPS.get(name, name): f.steps[name] for name in sorted(f.steps, key=_looseness)}
        lines.append(("edits found by", _listed(steps)))
    if f.tasks:
        lines.append(("subagents", f"{f.task_tokens:,} tokens, in sessions of their own; {_listed(f.tasks)}"))
    if f.guards:
        lines.append(("guards", _listed(f.guards)))
    if f.repairs:
        lines.append(("replies mended", _listed(f.repairs)))
    return lines


def rate(tokens: float, seconds: float) -> str:
    """Tokens a second, - where nothing was measured."""
    if not tokens or not seconds:
        return "-"
    value = tokens / seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def percent(part: float, whole: float) -> str:
    """A share, - of nothing."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def duration(seconds: float) -> str:
    """Seconds as 40 ms, 12.3 s, 4 min 10 s or 3 h 5 min."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    return f"{seconds // _HOUR:,.0f} h {seconds % _HOUR // _MINUTE:.0f} min"


def calls(figures: Figures) -> tuple[int, int]:
    """Calls that did what they were asked to, and all calls."""
    good = sum(count for name, count in figures.tools.items() if name.rpartition(" ")[2] == _OK)
    return int(good), int(sum(figures.tools.values()))


def _times(f: Figures) -> Iterable[tuple[str, str]]:
    """What the time went by with. What is left over is Pool's own, and replies that were broken off."""
    parts = [
        ("waiting", f.waiting),
        ("prefill", f.prefill),
        ("decode", f.decode),
        ("tools", f.working),
        ("approvals", f.approvals),
    ]
    rest = f.run_time - sum(seconds for _, seconds in parts)
    for name, seconds in [*parts, ("other", rest)]:
        if seconds > 0:
            yield f"  {name}", f"{duration(seconds)}{_share(seconds, f.run_time)}"


def _tools(f: Figures) -> Iterable[tuple[str, str]]:
    by_name: dict[str, dict[str, float]] = {}
    for key, count in f.tools.items():
        name, _, status = key.rpartition(" ")
        by_name.setdefault(name, {})[status] = count
    if not by_name:
        return
    good, total = calls(f)
    yield "calls", f"{total:,}, {percent(good, total)} ok"
    for name, statuses in sorted(by_name.items(), key=lambda item: -sum(item[1].values())):
        count = sum(statuses.values())
        others = {status: n for status, n in statuses.items() if status != _OK}
        spent = f", {duration(f.tool_time[name])}" if f.tool_time.get(name) else ""
        yield f"  {name}", f"{count:,}, {percent(statuses.get(_OK, 0), count)} ok{_listed(others, before=', ')}{spent}"


def _share(part: float, whole: float, what: str = "") -> str:
    return f", {percent(part, whole)}{' ' if what else ''}{what}" if whole else ""


def _listed(counts: Mapping[str, float], before: str = "") -> str:
    text = ", ".join(f"{int(count):,} {name}" for name, count in counts.items())
    return f"{before}{text}" if text else ""


def _looseness(step: str) -> int:
    order = list(_STEPS)
    return order.index(step) if step in order else len(order)
