"""An evaluation as tables of text, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pool.lab.eval.row import Row
from pool.lab.eval.statistics import Figure, Summary, difference, summaries

LABEL_COLUMNS = 22
MOST_PROBLEMS = 8
MOST_WORDS = 70


def report(rows: Sequence[Row]) -> str:
    """The tables: each task by arm, each arm's figures with their intervals, differences, and what went wrong."""
    if not rows:
        return "no run was made\n"
    found = summaries(rows)
    parts = [_by_task(rows, found), *(_of_arm(one) for one in found)]
    names = [one.arm for one in found]
    parts += [_compared(rows, names[0], other) for other in names[1:]]
    parts.append("\n".join(_problems(rows)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _by_task(rows: Sequence[Row], found: Sequence[Summary]) -> str:
    lines = [f"{'solved of runs':<{LABEL_COLUMNS}}" + "".join(f" {_letter(at):>9}" for at in range(len(found)))]
    for task in dict.fromkeys(row.task for row in rows):
        cells = [_cell([row for row in rows if row.task == task and row.arm_name == one.arm]) for one in found]
        lines.append(f"{task[:LABEL_COLUMNS]:<{LABEL_COLUMNS}}" + "".join(f" {cell:>9}" for cell in cells))
    legend = [f"  {_letter(at)}  {one.arm}" for at, one in enumerate(found)]
    return "\n".join([*lines, *legend])


def _letter(at: int) -> str:
    return chr(ord("A") + at) if at < 26 else str(at + 1)


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return "-"
    judged = [row for row in rows if row.solved is not None and not row.error]
    lost = len(rows) - len(judged)
    return f"{sum(bool(row.solved) for row in judged)}/{len(judged)}" + (f" +{lost}!" if lost else "")


def _of_arm(one: Summary) -> str:
    build = f" ({', '.join(one.builds)})" if one.builds else ""
    rows = [
        ("solved", share_text(one.solved)),
        ("pass", share_text(one.passed)),
        ("held-out pass", share_text(one.held_out)),
        ("turns", mean_text(one.turns, 1)),
        ("tool calls", mean_text(one.calls, 1)),
        ("tokens read", mean_text(one.prompt_tokens, 0)),
        ("tokens written", mean_text(one.completion_tokens, 0)),
        ("reasoning share", "-" if one.reasoning_share is None else f"{one.reasoning_share:.0%} of tokens written"),
        (
            "reasoning per solved",
            "-" if one.reasoning_per_solved is None else f"{one.reasoning_per_solved:,.0f} tokens",
        ),
        ("wall time", mean_text(one.seconds, 1, " s")),
        ("speed", "-" if one.rate is None else f"{one.rate:,.1f} tokens a second"),
        ("guards fired", str(one.guards)),
        ("audit", f"{one.flagged} of {one.runs - one.errors} runs not clean"),
        ("without a result", str(one.errors)),
    ]
    lines = [f"  {label:<{LABEL_COLUMNS - 2}} {text}" for label, text in rows]
    return "\n".join([f"{one.arm}{build}: {one.runs} runs; in brackets 95 % intervals", *lines])


def per_solved(one: Summary) -> str:
    """What a solved task took in tokens of thought."""
    return "-" if one.reasoning_per_solved is None else f"{one.reasoning_per_solved:,.0f} tokens"


def share_text(figure: Figure) -> str:
    """A share with its interval."""
    if figure.value is None:
        return "-"
    return f"{figure.value:.0%} [{figure.low:.0%} to {figure.high:.0%}], n = {figure.n}"


def mean_text(figure: Figure, digits: int, unit: str = "") -> str:
    """A mean with its interval."""
    if figure.value is None:
        return "-"
    low, value, high = (f"{v:,.{digits}f}" for v in (figure.low, figure.value, figure.high))
    if figure.n == 1:
        return f"{value}{unit}, n = 1"
    return f"{value}{unit} [{low} to {high}], n = {figure.n}"


def _compared(rows: Sequence[Row], one: str, other: str) -> str:
    found = difference(rows, one, other)
    gap = found.figure
    if gap.value is None:
        return ""
    told = "more than chance" if found.sure else "no difference can be told from these runs"
    interval = f"{gap.value:+.0%} [{gap.low:+.0%} to {gap.high:+.0%}], {gap.n} pairs"
    return f"{one} against {other}: solved {interval}\n  {told} (sign test, p = {found.chance:.2g})"


def _problems(rows: Sequence[Row]) -> Iterator[str]:
    wrong = [row for row in rows if row.error or row.solved is False or row.audit not in ("", "clean")]
    for row in wrong[:MOST_PROBLEMS]:
        said = row.error or row.audit + (f": {row.why[0]}" if row.why else "")
        words = " ".join(said.split())
        yield f"  {row.task} {row.number}, {row.arm_name}: {row.reason or 'no run'}"
        yield f"      {words[:MOST_WORDS]}"
    if len(wrong) > MOST_PROBLEMS:
        yield f"  and {len(wrong) - MOST_PROBLEMS} more; results.jsonl has all of them"
