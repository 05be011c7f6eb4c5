"""Statistics of sessions, folded from the rows of a log: by day, model and server, to be added up at will."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, NamedTuple, cast

from pool.sessions.summary import count_of, seconds_of, text_of

LEAST_PREFILL_TOKENS = 1_024
"""A prompt of which less had to be read says little about the speed of reading."""

_QUARTER_SECONDS = 900
"""Local days begin at whole quarters of an hour everywhere."""

MISSING_END = "no end"
"""How a run is counted that has no last event: its process was killed, or it still works."""


class Key(NamedTuple):
    """What figures belong to: a local day as 2026-11-30, a model's id and a server's address."""

    day: str
    model: str
    server: str


@dataclass(slots=True)
class Figures:
    """Sums over turns; times are in seconds, tokens as the server counted them.

    Waiting is for the server to take a request at all (away, queue, loading), prefill from there to the first token,
    decode from there to the end of the reply, working while at least one call runs, approvals until an answer, run_time
    all of it. The pairs read_ and written_ cover the replies that say something about speed: counted by the server, and
    for reading with enough tokens that were not cached. tools counts calls as `name status`, tool_time their seconds by
    name; steps say how edits found their text; guards are counted as `name action`, ends by stop reason, tasks of
    subagents as `kind reason`. task_tokens are what these read and wrote: it counts in their own sessions.
    """

    runs: int = 0
    turns: int = 0
    requests: int = 0
    estimated: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    waiting: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0
    working: float = 0.0
    approvals: float = 0.0
    run_time: float = 0.0
    read_tokens: int = 0
    read_seconds: float = 0.0
    written_tokens: int = 0
    written_seconds: float = 0.0
    task_tokens: int = 0
    tools: dict[str, float] = field(default_factory=dict[str, float])
    tool_time: dict[str, float] = field(default_factory=dict[str, float])
    steps: dict[str, float] = field(default_factory=dict[str, float])
    guards: dict[str, float] = field(default_factory=dict[str, float])
    repairs: dict[str, float] = field(default_factory=dict[str, float])
    ends: dict[str, float] = field(default_factory=dict[str, float])
    tasks: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, other: Figures) -> None:
        """Add another's sums to these."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _TABLES:
            table: dict[str, float] = getattr(self, name)
            for key, value in cast(dict[str, float], getattr(other, name)).items():
                bump(table, key, value)

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Figures:
        """Back from what `dataclasses.asdict` gave; what is missing is 0."""
        return cls(**{name: row[name] for name in (*_NUMBERS, *_TABLES) if name in row})


_TABLES = tuple(f.name for f in fields(Figures) if f.default_factory is not MISSING)
_NUMBERS = tuple(f.name for f in fields(Figures) if f.default_factory is MISSING)


def bump(table: dict[str, float], key: str, by: float = 1) -> None:
    """Count in a table."""
    table[key] = table.get(key, 0) + by


def figures_of(rows: Iterable[dict[str, Any]]) -> dict[Key, Figures]:
    """Fold a log's rows."""
    fold = _Fold()
    for row in rows:
        fold.take(row)
    fold.end_run("")
    return {key: value for key, value in fold.out.items() if value != Figures()}


class _Fold:
    def __init__(self) -> None:
        self.out: dict[Key, Figures] = {}
        self._days: dict[int, str] = {}
        self._day = ""
        self._model = self._server = ""
        self._started: float | None = None
        self._last = 0.0
        self._asked: dict[str, float] = {}
        self._running: dict[str, float] = {}
        self._busy_since = 0.0

    def take(self, row: dict[str, Any]) -> None:
        mono, call = seconds_of(row.get("mono")), text_of(row.get("call"))
        kind = row.get("type")
        if kind == "run.started":
            self.end_run("")
            self._model, self._server = text_of(row.get("model")), text_of(row.get("server"))
            self._started = mono
        figures = self._figures(row)
        match kind:
            case "run.started":
                figures.runs += 1
            case "turn.finished":
                figures.turns += 1
                for repair in _list(row.get("repairs")):
                    bump(figures.repairs, text_of(repair))
            case "usage":
                _add_usage(figures, row)
            case "approval.asked":
                self._asked[call] = mono
            case "approval.given":
                figures.approvals += max(0.0, mono - self._asked.pop(call, mono))
            case "call.started":
                self._busy_since = self._busy_since if self._running else mono
                self._running[call] = mono
            case "call.finished":
                self._call_finished(figures, row, call, mono)
            case "guard.fired":
                bump(figures.guards, f"{text_of(row.get('guard'))} {text_of(row.get('action'))}")
            case "task.finished":
                bump(figures.tasks, f"{text_of(row.get('kind'))} {text_of(row.get('reason'))}")
                usage: Any = row.get("usage")
                used = cast(dict[str, Any], usage) if isinstance(usage, dict) else {}
                figures.task_tokens += count_of(used.get("prompt")) + count_of(used.get("completion"))
            case "run.finished":
                self._last = mono
                self.end_run(text_of(row.get("reason")))
            case _:
                pass
        self._last = mono or self._last

    def end_run(self, reason: str) -> None:
        """Settle the run that is open, if one is. reason is "" if its end is missing."""
        if self._started is None:
            return
        figures = self._figures({})
        figures.run_time += max(0.0, self._last - self._started)
        bump(figures.ends, reason or MISSING_END)
        self._started = None
        self._asked.clear()
        self._running.clear()

    def _call_finished(self, figures: Figures, row: dict[str, Any], call: str, mono: float) -> None:
        name, status = text_of(row.get("name")), text_of(row.get("status"))
        bump(figures.tools, f"{name} {status}")
        started = self._running.pop(call, None)
        if started is not None:
            bump(figures.tool_time, name, max(0.0, mono - started))
            if not self._running:
                figures.working += max(0.0, mono - self._busy_since)
        data: Any = row.get("data")
        step = text_of(cast(dict[str, Any], data).get("step")) if isinstance(data, dict) else ""
        if step:
            bump(figures.steps, step)

    def _figures(self, row: dict[str, Any]) -> Figures:
        wall = seconds_of(row.get("wall"))
        if wall:
            quarter = int(wall // _QUARTER_SECONDS)
            if quarter not in self._days:
                self._days[quarter] = _day(wall)
            self._day = self._days[quarter]
        return self.out.setdefault(Key(self._day, self._model, self._server), Figures())


def _add_usage(figures: Figures, row: dict[str, Any]) -> None:
    usage: Any = row.get("usage")
    counts = cast(dict[str, Any], usage) if isinstance(usage, dict) else {}
    prompt, completion = count_of(counts.get("prompt")), count_of(counts.get("completion"))
    cached, reasoning = count_of(counts.get("cached")), count_of(counts.get("reasoning"))
    estimated = counts.get("estimated") is True
    waited = seconds_of(row.get("waited_seconds"))
    first = max(0.0, seconds_of(row.get("first_token_seconds")) - waited)
    decode = max(0.0, seconds_of(row.get("reply_seconds")) - waited - first)
    figures.requests += 1
    figures.estimated += estimated
    figures.prompt += prompt
    figures.cached += min(cached, prompt)
    figures.completion += completion
    figures.reasoning += min(reasoning, completion)
    figures.waiting += waited
    figures.prefill += first
    figures.decode += decode
    # A server that does not tell what it had cached says something only where nothing was sent before.
    known = cached or not count_of(row.get("prefix_kept"))
    if not estimated and known and first and prompt - cached >= LEAST_PREFILL_TOKENS:
        figures.read_tokens += prompt - cached
        figures.read_seconds += first
    # The first token of a reply comes with the end of prefill.
    if not estimated and decode and completion > 1:
        figures.written_tokens += completion - 1
        figures.written_seconds += decode


def _day(wall: float) -> str:
    try:
        return time.strftime("%Y-%m-%d", time.localtime(wall))
    except (OverflowError, ValueError, OSError):
        return ""


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []
