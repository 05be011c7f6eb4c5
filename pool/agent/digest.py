"""From a run's events, live or from a log, to its `RunResult`. Whatever the rows hold, they make some result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

from pool import __version__
from pool.agent.ledger import TestLedger
from pool.agent.result import (
    CallResult,
    GuardResult,
    HookResult,
    NoticeResult,
    RunResult,
    SubagentResult,
    TestBook,
    TestResult,
    TimeSpent,
    TurnResult,
)
from pool.events import STOP_TABLE, ChangedFile, StopReason, Usage
from pool.sessions.figures import Figures, figures_of
from pool.sessions.summary import count_of, seconds_of, text_of
from pool.sessions.workrows import WorkRows

if TYPE_CHECKING:
    from pool.agent.answerform import AnswerForm

Row = dict[str, Any]

LEFT_OUT = frozenset({"head.set", "message.added"})
"""Kinds of events that a result takes nothing from, though they are large."""

_SHARE_DIGITS = 4


def runs_of(rows: Iterable[Row]) -> list[list[Row]]:
    """A session's rows, run by run. Rows of subagents are left out; what stands after a run's end belongs to it."""
    runs: list[list[Row]] = []
    for row in rows:
        kind = row.get("type")
        if row.get("agent") or kind in LEFT_OUT:
            continue
        if kind == "run.started":
            runs.append([])
        if runs:
            runs[-1].append(row)
    return runs


def result_of(rows: Sequence[Row], *, form: AnswerForm | None = None) -> RunResult:
    """The result of one run from its rows. form is what the answer was to fit, if anything."""
    start, end = _first(rows, "run.started"), _first(reversed(rows), "run.finished")
    any_row = start or end
    usage = _usage(end.get("usage")) if end else _sum(_usage(r.get("usage")) for r in rows if r.get("type") == "usage")
    calls = _calls(rows)
    turns = _turns(rows)
    reason = text_of(end.get("reason"))
    work = WorkRows()
    for row in rows:
        work.take(row)
    return RunResult(
        pool=__version__,
        session=text_of(any_row.get("session")),
        run=text_of(any_row.get("run")),
        prompt=text_of(start.get("prompt")),
        workspace=text_of(start.get("workspace")),
        model=text_of(start.get("model")),
        server=text_of(start.get("server")),
        mode=text_of(start.get("mode")),
        sandbox=text_of(start.get("sandbox")),
        reason=reason,
        exit_code=count_of(end.get("exit_code")) if end else STOP_TABLE[StopReason.INTERNAL_ERROR].exit,
        detail=text_of(end.get("detail")),
        signal=count_of(end.get("signal")),
        answer=text_of(end.get("answer")),
        output=_output(text_of(end.get("answer")), form),
        turns=count_of(end.get("turns")) if end else len(turns),
        seconds=seconds_of(end.get("seconds")) if end else _elapsed(rows),
        usage=usage,
        cached_share=_share(usage),
        reasoning_tokens=count_of(end.get("reasoning_tokens")),
        per_turn=turns,
        calls=calls,
        changes=_changes(end.get("changes")) if end else _added_up(calls),
        guards=tuple(
            GuardResult(count_of(r.get("turn")), text_of(r.get("guard")), text_of(r.get("action")), _detail(r))
            for r in _of(rows, "guard.fired")
        ),
        hooks=tuple(_hook(row) for row in _of(rows, "hook.ran")),
        tests=_tests(calls, _detail(end) if reason == StopReason.UNVERIFIED.value else ""),
        commits=tuple(text_of(r.get("commit")) for r in _of(rows, "commit.made")),
        compactions=tuple(_detail(r) for r in _of(rows, "history.compacted")),
        notices=tuple(
            NoticeResult(text_of(r.get("level")), text_of(r.get("text")), text_of(r.get("remedy")))
            for r in _of(rows, "notice")
        ),
        time=_time(rows),
        todo=work.todo,
        plan=work.plan,
        subagents=_subagents(rows),
    )


def _hook(row: Row) -> HookResult:
    return HookResult(
        count_of(row.get("turn")),
        text_of(row.get("call")),
        text_of(row.get("hook")),
        text_of(row.get("point")),
        text_of(row.get("outcome")),
        _detail(row),
        seconds_of(row.get("seconds")),
    )


def _output(answer: str, form: AnswerForm | None) -> Any:
    if form is None:
        return None
    try:
        return form.value(answer)
    except ValueError:
        return None


def _of(rows: Iterable[Row], kind: str) -> Iterator[Row]:
    return (row for row in rows if row.get("type") == kind)


def _first(rows: Iterable[Row], kind: str) -> Row:
    return next(_of(rows, kind), dict[str, Any]())


def _detail(row: Row) -> str:
    return text_of(row.get("detail"))


def _object(value: Any) -> Row:
    return cast(Row, value) if isinstance(value, dict) else {}


def _items(value: Any) -> list[Row]:
    return [_object(item) for item in cast(list[Any], value)] if isinstance(value, (list, tuple)) else []


def _elapsed(rows: Sequence[Row]) -> float:
    times = [seconds_of(row.get("mono")) for row in rows]
    return max(0.0, times[-1] - times[0]) if times else 0.0


# -- tokens


def _usage(value: Any) -> Usage:
    row = _object(value)
    counts = {f.name: count_of(row.get(f.name)) for f in fields(Usage) if f.name != "estimated"}
    return Usage(**counts, estimated=bool(row.get("estimated")))


def _sum(usages: Iterable[Usage]) -> Usage:
    return sum(usages, Usage())


def _share(usage: Usage) -> float | None:
    return round(usage.cached / usage.prompt, _SHARE_DIGITS) if usage.prompt else None


@dataclass(slots=True)
class _Turn:
    requests: list[Row] = field(default_factory=list[Row])
    end: Row = field(default_factory=dict[str, Any])


def _turns(rows: Sequence[Row]) -> tuple[TurnResult, ...]:
    turns: dict[int, _Turn] = {}
    for row in rows:
        if row.get("type") == "usage":
            turns.setdefault(count_of(row.get("turn")), _Turn()).requests.append(row)
        elif row.get("type") == "turn.finished":
            turns.setdefault(count_of(row.get("turn")), _Turn()).end = row
    return tuple(_turn(number, turn) for number, turn in turns.items())


def _turn(number: int, turn: _Turn) -> TurnResult:
    usage = _sum(_usage(row.get("usage")) for row in turn.requests)

    def total(name: str) -> float:
        return sum(seconds_of(row.get(name)) for row in turn.requests)

    return TurnResult(
        number,
        len(turn.requests),
        usage,
        _share(usage),
        total("waited_seconds"),
        total("first_token_seconds"),
        total("reply_seconds"),
        text_of(turn.end.get("finish")),
        text_of(turn.end.get("ending")),
        count_of(turn.end.get("calls")),
    )


# -- calls


def _calls(rows: Sequence[Row]) -> tuple[CallResult, ...]:
    calls: dict[str, CallResult] = {}
    for row in rows:
        name = text_of(row.get("call"))
        match row.get("type"):
            case "call.proposed":
                calls[name] = CallResult(
                    name,
                    count_of(row.get("turn")),
                    text_of(row.get("name")),
                    _object(row.get("arguments")),
                    text_of(row.get("title")),
                    text_of(row.get("effect")),
                )
            case "call.finished":
                calls[name] = _finished(calls.get(name) or _unproposed(row), row)
            case _:
                pass
    return tuple(calls.values())


def _unproposed(row: Row) -> CallResult:
    return CallResult(text_of(row.get("call")), count_of(row.get("turn")), text_of(row.get("name")), {}, "", "")


def _finished(call: CallResult, row: Row) -> CallResult:
    data = _object(row.get("data"))
    status = data.get("exit_status")
    return replace(
        call,
        status=text_of(row.get("status")),
        seconds=seconds_of(row.get("seconds")),
        exit_status=status if isinstance(status, int) else None,
        denied_by=text_of(data.get("denied_by")),
        changes=_changes(row.get("changes")),
        data=data,
        text=text_of(row.get("text")),
    )


def _changes(value: Any) -> tuple[ChangedFile, ...]:
    return tuple(
        ChangedFile(
            text_of(row.get("path")), text_of(row.get("kind")), count_of(row.get("added")), count_of(row.get("removed"))
        )
        for row in _items(value)
    )


def _added_up(calls: Sequence[CallResult]) -> tuple[ChangedFile, ...]:
    """The changes of a run whose end is missing, from its calls."""
    from pool.agent.state import RunState

    state = RunState("")
    for call in calls:
        for change in call.changes:
            state.changed(change)
    return tuple(state.changes.values())


def _tests(calls: Sequence[CallResult], unbacked: str) -> TestBook:
    """The test ledger, made again from the calls as the run made it."""
    ledger = TestLedger()
    ids: list[str] = []
    for call in calls:
        command = call.arguments.get("command") or call.data.get("command")
        changed = [change.path for change in call.changes]
        if isinstance(command, str) and call.status in ("ok", "failed"):
            ledger.command(command, call.text, call.exit_status, changed)
            ids += [call.id] * (len(ledger.runs) - len(ids))
        elif changed:
            ledger.edited(changed)
    runs = tuple(
        TestResult(name, run.command, run.passed, run.ran, run.whole)
        for name, run in zip(ids, ledger.runs, strict=True)
    )
    return TestBook(runs, bool(runs) and ledger.edited_since, unbacked)


def _subagents(rows: Sequence[Row]) -> tuple[SubagentResult, ...]:
    found: dict[str, SubagentResult] = {}
    for row in rows:
        if row.get("type") not in ("task.started", "task.finished"):
            continue
        call = text_of(row.get("call"))
        found[call] = SubagentResult(
            call,
            agent=text_of(row.get("kind")),
            title=text_of(row.get("title")),
            session=text_of(row.get("task_session")),
            reason=text_of(row.get("reason")),
            detail=_detail(row),
            turns=count_of(row.get("turns")),
            seconds=seconds_of(row.get("seconds")),
            usage=_usage(row.get("usage")),
            branch=text_of(row.get("branch")),
            stat=text_of(row.get("stat")),
        )
    return tuple(found.values())


def _time(rows: Sequence[Row]) -> TimeSpent:
    spent = Figures()
    for figures in figures_of(rows).values():
        spent.add(figures)
    parts = (spent.waiting, spent.prefill, spent.decode, spent.working, spent.approvals)
    return TimeSpent(*parts, max(0.0, spent.run_time - sum(parts)))
