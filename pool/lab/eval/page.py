"""An evaluation as one HTML page that needs nothing else: figures with their intervals, plots, and every run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from pool.lab.bench.charts import STYLE
from pool.lab.eval.row import Row
from pool.lab.eval.statistics import Figure, Summary, difference, summaries
from pool.lab.eval.table import mean_text, per_solved, share_text

WIDTH, LABEL, LINE, TOP, FIGURE = 640, 190, 26, 34, 90
CSS = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "table{border-collapse:collapse;margin:1em 0;font-size:14px}td,th{padding:.25em .7em;text-align:left;"
    "border-bottom:1px solid #8884;vertical-align:top}svg{max-width:100%;height:auto;display:block;margin:1em 0}"
    ".bad{color:#b3261e}.good{color:#1b6e3c}.quiet{opacity:.7}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1c1c1c}.bad{color:#ff8a80}.good{color:#7fd6a0}}"
)
INTERVAL = "<style>.i{stroke:currentColor;stroke-width:2}</style>"


def page(title: str, facts: Mapping[str, str], rows: Sequence[Row]) -> str:
    """The page. facts are told under the title; every text is escaped."""
    found = summaries(rows)
    told = "".join(f"<tr><th>{escape(name)}<td>{escape(value)}" for name, value in facts.items())
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title><style>{CSS}</style>",
        f"<h1>{escape(title)}</h1><table>{told}</table>",
        "<p class='quiet'>Lines over the bars and figures in brackets are 95 % intervals: of shares by Wilson, of "
        "means by Student. n is the number of runs; one run has no interval.</p>",
        *_plots(found),
        "<h2>Figures</h2>",
        _figures(found),
        *_differences(rows, found),
        "<h2>Tasks</h2>",
        _tasks(rows, found),
        "<h2>Runs</h2>",
        _runs(rows),
        "</html>\n",
    ]
    return "".join(parts)


def _plots(found: Sequence[Summary]) -> Iterator[str]:
    percent = "{:.0%}".format
    number = "{:,.0f}".format
    yield _bars("Solved", [(one.arm, one.solved) for one in found], percent, 1.0)
    yield _bars("Held-out tests pass", [(one.arm, one.held_out) for one in found], percent, 1.0)
    yield _bars("Turns a run", [(one.arm, one.turns) for one in found], "{:.1f}".format)
    yield _bars("Tokens written a run", [(one.arm, one.completion_tokens) for one in found], number)
    yield _bars("Wall time a run, seconds", [(one.arm, one.seconds) for one in found], "{:.1f}".format)
    thought = [(_built(one), Figure(one.reasoning_per_solved)) for one in found]
    yield _bars("Reasoning tokens for each solved task, by build", thought, number)


def _built(one: Summary) -> str:
    return f"{one.arm} {'/'.join(one.builds)}".strip()


def _bars(title: str, bars: Sequence[tuple[str, Figure]], shown: object, most: float = 0.0) -> str:
    """Bars that lie, each with its interval as a line; nothing where no bar has a value."""
    known = [(label, figure) for label, figure in bars if figure.value is not None]
    if not known or not callable(shown):
        return ""
    top = most or max(max(figure.high, figure.value or 0.0) for _, figure in known) or 1.0
    room = WIDTH - LABEL - FIGURE
    parts: list[str] = []
    for at, (label, figure) in enumerate(known):
        value = figure.value or 0.0
        y, long = TOP + at * LINE, room * value / top
        low, high = LABEL + room * figure.low / top, LABEL + room * figure.high / top
        parts.append(
            f'<text x="{LABEL - 8}" y="{y + 16}" text-anchor="end">{escape(label[:28])}</text>'
            f'<rect class="b" x="{LABEL}" y="{y + 3}" width="{long:.1f}" height="{LINE - 8}"/>'
        )
        if figure.n > 1:
            parts.append(f'<line class="i" x1="{low:.1f}" y1="{y + 12}" x2="{high:.1f}" y2="{y + 12}"/>')
        end = LABEL + room * max(figure.high, value) / top
        parts.append(f'<text x="{end + 6:.1f}" y="{y + 16}">{escape(str(shown(value)))}</text>')
    height = TOP + len(known) * LINE + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img">{STYLE}{INTERVAL}<title>{escape(title)}</title><text class="t" x="8" y="20">{escape(title)}</text>'
        f"{''.join(parts)}</svg>"
    )


def _figures(found: Sequence[Summary]) -> str:
    rows = [
        ("solved", [share_text(one.solved) for one in found]),
        ("pass", [share_text(one.passed) for one in found]),
        ("held-out pass", [share_text(one.held_out) for one in found]),
        ("turns", [mean_text(one.turns, 1) for one in found]),
        ("tool calls", [mean_text(one.calls, 1) for one in found]),
        ("tokens read", [mean_text(one.prompt_tokens, 0) for one in found]),
        ("tokens written", [mean_text(one.completion_tokens, 0) for one in found]),
        ("reasoning share", ["-" if o.reasoning_share is None else f"{o.reasoning_share:.0%}" for o in found]),
        ("reasoning for each solved", [per_solved(one) for one in found]),
        ("wall time, s", [mean_text(one.seconds, 1) for one in found]),
        ("tokens a second", ["-" if one.rate is None else f"{one.rate:,.1f}" for one in found]),
        ("guards fired", [str(one.guards) for one in found]),
        ("runs that the audit flagged", [str(one.flagged) for one in found]),
        ("runs without a result", [str(one.errors) for one in found]),
    ]
    head = "".join(f"<th>{escape(_built(one))}" for one in found)
    body = "".join(f"<tr><th>{name}{''.join(f'<td>{escape(cell)}' for cell in cells)}" for name, cells in rows)
    return f"<table><tr><th>{head}{body}</table>"


def _differences(rows: Sequence[Row], found: Sequence[Summary]) -> Iterator[str]:
    for other in found[1:]:
        gap = difference(rows, found[0].arm, other.arm)
        value = gap.figure
        if value.value is not None:
            words = f"{found[0].arm} against {other.arm}: solved {value.value:+.0%}"
            sure = "more than chance" if gap.sure else "no difference can be told"
            interval = f"[{value.low:+.0%} to {value.high:+.0%}], {value.n} pairs; {sure} (p = {gap.chance:.2g})"
            yield f"<p>{escape(words)} {interval}.</p>"


def _tasks(rows: Sequence[Row], found: Sequence[Summary]) -> str:
    head = "".join(f"<th>{escape(one.arm)}" for one in found)
    lines: list[str] = []
    for task in dict.fromkeys(row.task for row in rows):
        cells: list[str] = []
        for one in found:
            own = [r for r in rows if r.task == task and r.arm_name == one.arm and r.solved is not None and not r.error]
            cells.append(f"<td>{sum(bool(r.solved) for r in own)} of {len(own)}" if own else "<td>-")
        lines.append(f"<tr><th>{escape(task)}{''.join(cells)}")
    return f"<table><tr><th>task{head}{''.join(lines)}</table>"


def _runs(rows: Sequence[Row]) -> str:
    head = "<tr><th>task<th>arm<th>n<th>result<th>ended<th>turns<th>written<th>s<th>guards<th>audit<th>why"
    return f"<table>{head}{''.join(map(_run, rows))}</table>"


def _run(row: Row) -> str:
    result = "no result" if row.error else "solved" if row.solved else "not solved"
    colour = "good" if row.solved else "bad"
    why = row.error or (row.why[0] if row.why and not row.solved else "")
    cells = (
        row.task,
        row.arm_name,
        str(row.number),
        result,
        row.reason,
        str(row.turns),
        f"{row.completion_tokens:,}",
        f"{row.seconds:.1f}",
        ", ".join(row.guards),
        " ".join((row.audit, *row.flags)),
        why[:200],
    )
    texts = [f"<td class='{colour}'>" if at == 3 else "<td>" for at in range(len(cells))]
    return "<tr>" + "".join(f"{tag}{escape(text)}" for tag, text in zip(texts, cells, strict=True))
