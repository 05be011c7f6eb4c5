"""`pool report`: one screen about a session, from its log alone: what was asked, done, left open, and waited for."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from pool.agent.digest import result_of, runs_of
from pool.agent.ledger import PROSE_FILES
from pool.agent.result import CallResult, RunResult, SubagentResult, TimeSpent
from pool.agent.state import RunState
from pool.agent.todo import progress
from pool.events import ChangedFile, Usage
from pool.headless.columns import cut, cut_front, home_short, pad, terminal_columns, width
from pool.headless.plain import one_line
from pool.headless.undo import session_named
from pool.sessions.log import in_use, read_rows
from pool.sessions.report import duration, percent
from pool.sessions.rewinds import effective
from pool.sessions.store import NoSuchSession, clock, short_id
from pool.sessions.summary import Summary, summarized

REPORT_TYPE, REPORT_VERSION = "session.report", 1
EXIT_FAILED, EXIT_USAGE = 1, 2
LABEL_COLUMNS = 13
MOST_PROMPTS = 3
MOST_ANSWER_LINES = 4
MOST_FILES = 6
MOST_LINES = 4
"""Of tests, denials and warnings so many are shown each."""

PATH_COLUMNS = 48
WIDE_COLUMNS = 100
"""What a line may take where stdout is no terminal."""

Lines = Iterator[tuple[str, str]]


def parser() -> argparse.ArgumentParser:
    """The flags of `pool report`."""
    p = argparse.ArgumentParser(
        prog="pool report",
        description="One screen about a session, from its log: what was asked and done, what is not verified, what "
        "changed, tests, guards, denials, and where the time went.",
    )
    p.add_argument("session", metavar="ID", nargs="?", default="", help="part of its id; default: this folder's last")
    p.add_argument("--json", action="store_true", help="one JSON object, with each run as pool run -o json gives it")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the folder whose last session is meant")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool report`; returns the exit code."""
    from pool.headless.sessions import complain

    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        found = session_named(args.session, args.dir)
        at_work = in_use(found.path)
        rows, _ = read_rows(found.path.read_bytes())
    except NoSuchSession as error:
        return complain(str(error), EXIT_USAGE, "report")
    except OSError as error:
        return complain(f"{error.strerror}: {error.filename}" if error.filename else str(error), EXIT_FAILED, "report")
    rows = effective(rows)
    runs = [result_of(run) for run in runs_of(rows)]
    summary = summarized(rows, found.path)
    if args.json:
        print(json.dumps(_row(summary, runs, at_work=at_work), ensure_ascii=True))
        return 0
    for line in shown(summary, runs, terminal_columns() or WIDE_COLUMNS, at_work=at_work):
        sys.stdout.write(f"{line}\n")
    return 0


def _row(summary: Summary, runs: Sequence[RunResult], *, at_work: bool) -> dict[str, Any]:
    about = {"session": summary.id, "name": summary.name, "workspace": summary.workspace, "created": summary.created}
    open_points = list(unverified(runs, at_work=at_work))
    head = {"type": REPORT_TYPE, "v": REPORT_VERSION, **about, "not_verified": open_points}
    return {**head, "runs": [run.to_dict() for run in runs]}


def shown(summary: Summary, runs: Sequence[RunResult], columns: int, *, at_work: bool = False) -> Iterator[str]:
    """The report as lines of at most so many columns. at_work: a process has the session open."""
    about = [home_short(summary.workspace), clock(summary.created), _plural(len(runs), "prompt")]
    yield cut(f"{short_id(summary.id)} {summary.name or summary.title} · {' · '.join(about)}", columns)
    if not runs:
        yield "Nothing was asked in it."
        return
    last = runs[-1]
    yield cut(f"{last.model} at {last.server}, mode {last.mode}, sandbox {last.sandbox}", columns)
    before = ""
    for label, value in _lines(runs, columns - LABEL_COLUMNS, at_work=at_work):
        yield pad(label if label != before else "", LABEL_COLUMNS) + cut(value, columns - LABEL_COLUMNS)
        before = label


def _lines(runs: Sequence[RunResult], room: int, *, at_work: bool) -> Lines:
    last = runs[-1]
    yield from _few("asked", (_first_line(run.prompt) for run in runs), len(runs), MOST_PROMPTS)
    why = f": {last.detail}" if last.detail else ""
    no_end = "not yet: it is at work (pool ps)" if at_work else "no end: its process was killed"
    yield "ended", f"{last.reason} (exit {last.exit_code}){why}" if last.reason else no_end
    yield from (("done", line) for line in _answer(last.answer, room))
    for point in unverified(runs, at_work=at_work):
        yield "not verified", point
    yield from _changes(runs)
    commits = [name for run in runs for name in run.commits]
    yield from _few("commits", commits, len(commits), MOST_LINES)
    tests = [f"{_verdict(t.passed, t.executed)}: {one_line(t.command)}" for run in runs for t in run.tests.runs]
    # The last runs of tests say most.
    yield from _few("tests", tests[-MOST_LINES:], len(tests), MOST_LINES)
    tasks = [_task(task) for run in runs for task in run.subagents]
    yield from _few("subagents", tasks, len(tasks), MOST_LINES)
    if last.plan:
        yield "plan", f"waits: {_first_line(last.plan)}"
    if last.todo:
        yield "todo", progress(last.todo)
    guards = Counter(f"{g.guard} {g.action}" for run in runs for g in run.guards)
    if guards:
        yield "guards", ", ".join(f"{name}{f' x{count}' if count > 1 else ''}" for name, count in guards.items())
    hooks = Counter(f"{h.hook} {h.outcome}" for run in runs for h in run.hooks if h.outcome != "ok")
    if hooks:
        yield "hooks", ", ".join(f"{name}{f' x{count}' if count > 1 else ''}" for name, count in hooks.items())
    denied = [f"{_what(call)} (by {call.denied_by})" for run in runs for call in run.calls if call.denied_by]
    yield from _few("denied", denied, len(denied), MOST_LINES)
    warnings = [n.text for run in runs for n in run.notices if n.level != "info"]
    yield from _few("warnings", warnings, len(warnings), MOST_LINES)
    yield from _time(runs)
    usage = sum((run.usage for run in runs), Usage())
    read = f"{usage.prompt:,} read ({percent(usage.cached, usage.prompt)} cached), {usage.completion:,} written"
    yield "tokens", f"{read}{', estimated' if usage.estimated else ''}"


def unverified(runs: Sequence[RunResult], *, at_work: bool = False) -> Iterator[str]:
    """What a person who takes over has to look at, as far as the log tells. at_work: the last run may go on."""
    if not runs:
        return
    last = runs[-1]
    tests = [test for run in runs for test in run.tests.runs]
    code = [c.path for run in runs for c in run.changes if not c.path.lower().endswith(PROSE_FILES)]
    if last.tests.unbacked:
        yield last.tests.unbacked
    if tests and not tests[-1].passed:
        yield "the last test run failed"
    elif tests and not tests[-1].executed:
        yield "the last test run executed no test"
    elif tests and _changed_since(runs):
        yield "files were changed after the last test run"
    elif code and not tests and not last.tests.unbacked:
        yield f"{_plural(len(set(code)), 'file')} changed, and no test was run"
    ended = runs[:-1] if at_work and not last.reason else runs
    if cut_off := sum(call.status in ("interrupted", "") for run in ended for call in run.calls):
        yield f"{_plural(cut_off, 'call')} cut off in the middle"


def _changed_since(runs: Sequence[RunResult]) -> bool:
    """Whether code was changed after the last test run, in its own run or in a later one."""
    at = max(index for index, run in enumerate(runs) if run.tests.runs)
    later = (c.path for run in runs[at + 1 :] for c in run.changes)
    return runs[at].tests.edited_since or any(not path.lower().endswith(PROSE_FILES) for path in later)


def _changes(runs: Sequence[RunResult]) -> Lines:
    state = RunState("")
    for run in runs:
        for change in run.changes:
            state.changed(change)
    changes = list(state.changes.values())
    size = min(PATH_COLUMNS, max((width(one_line(c.path)) for c in changes), default=0))
    for change in changes[:MOST_FILES]:
        yield "changed", f"{pad(cut_front(change.path, size), size)} {_counts(change)}"
    if len(changes) > 1:
        added, removed = sum(c.added for c in changes), sum(c.removed for c in changes)
        yield "changed", f"{len(changes)} files, {added:,} lines added, {removed:,} removed"


def _counts(change: ChangedFile) -> str:
    kind = "" if change.kind == "modified" else f" {change.kind}"
    return f"+{change.added:,} -{change.removed:,}{kind}"


def _time(runs: Sequence[RunResult]) -> Lines:
    total = sum(run.seconds for run in runs)
    parts: list[str] = []
    for each in fields(TimeSpent):
        seconds = sum(float(getattr(run.time, each.name)) for run in runs)
        if seconds >= 0.05:
            parts.append(f"{_PARTS[each.name]} {duration(seconds)}")
    yield "time", f"{duration(total)}{': ' if parts else ''}{', '.join(parts)}"


_PARTS = {
    "waiting": "waiting for the server",
    "prefill": "prefill",
    "decode": "writing",
    "tools": "tools",
    "approvals": "waiting for answers",
    "other": "other",
}


def _answer(answer: str, room: int) -> list[str]:
    lines = [line for part in answer.splitlines() if part.strip() for line in textwrap.wrap(one_line(part), room)]
    return [*lines[:MOST_ANSWER_LINES], *(["..."] if len(lines) > MOST_ANSWER_LINES else [])]


def _few(label: str, values: Iterable[str], count: int, most: int) -> Lines:
    for index, value in enumerate(values):
        if index == most:
            break
        yield label, value
    if count > most:
        yield label, f"... {count - most:,} more"


def _what(call: CallResult) -> str:
    about = call.arguments.get("command") or call.arguments.get("path") or call.title
    return f"{call.name}: {_first_line(str(about))}"


def _task(task: SubagentResult) -> str:
    left = f", {task.branch}: {task.stat}" if task.stat else ""
    how = f"{task.reason or 'no end'}, {_plural(task.turns, 'turn')}, {task.usage.total:,} tokens{left}"
    return f"{short_id(task.session)} {one_line(task.agent)}: {one_line(task.title)}: {how}"


def _verdict(passed: bool, executed: bool) -> str:
    return "passed" if passed and executed else "ran no test" if passed else "failed"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
