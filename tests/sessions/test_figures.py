"""Statistics from a log's rows: times are told apart, speeds come from counts and times, runs without end count too."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from pool.sessions.figures import MISSING_END, Figures, Key, figures_of
from tests.sessions.made import Row, finished, row, started

NOON = 1_700_000_000.0


def usage(mono: float, *, prompt: int = 5000, cached: int = 0, kept: int = 0, estimated: bool = False) -> Row:
    """A reply of 101 tokens, 40 of them thought: 1 s waited, 2 s prefill, 5 s decode."""
    counts = {"prompt": prompt, "completion": 101, "cached": cached, "reasoning": 40, "estimated": estimated}
    times = {"first_token_seconds": 3.0, "reply_seconds": 8.0, "waited_seconds": 1.0}
    return row("usage", mono, usage=counts, prefix_kept=kept, **times)


def call(id_: str, start: float, end: float, name: str = "read", status: str = "ok", step: str = "") -> list[Row]:
    data = {"step": step} if step else {}
    ended = row("call.finished", end, call=id_, name=name, status=status, data=data, seconds=99.0)
    return [row("call.started", start, call=id_, name=name), ended]


def only(*rows: Row) -> Figures:
    (figures,) = figures_of(rows).values()
    return figures


def test_tokens_and_speeds() -> None:
    found = only(
        started("p"),
        usage(8.0),
        row("turn.finished", 8.5, repairs=["think-in-content"]),
        usage(16.0, prompt=6000, cached=4000, kept=3),
        usage(24.0, prompt=6100, kept=5),
        usage(32.0, estimated=True),
        finished(mono=33.0),
    )
    assert (found.requests, found.estimated, found.turns, found.runs) == (4, 1, 1, 1)
    assert (found.prompt, found.cached, found.completion, found.reasoning) == (22_100, 4000, 404, 160)
    assert (found.waiting, found.prefill, found.decode, found.run_time) == (4.0, 8.0, 20.0, 33.0)
    assert (found.read_tokens, found.read_seconds) == (7000, 4.0)
    assert (found.written_tokens, found.written_seconds) == (300, 15.0)
    assert found.repairs == {"think-in-content": 1}


def test_calls_side_by_side_count_once_and_waiting_for_an_answer_apart() -> None:
    first, second = call("a", 1.0, 4.0), call("b", 2.0, 5.0)
    found = only(
        started("p"),
        first[0],
        second[0],
        first[1],
        second[1],
        row("approval.asked", 6.0, call="c"),
        row("approval.given", 16.0, call="c", allowed=True),
        *call("c", 16.0, 18.0, "edit", step="indentation"),
        row("call.finished", 19.0, call="d", name="edit", status="invalid", data={}),
        row("guard.fired", 19.0, guard="loop", action="nudge"),
        finished("loop", 20.0),
    )
    assert (found.working, found.approvals) == (6.0, 10.0)
    assert found.tools == {"read ok": 2, "edit ok": 1, "edit invalid": 1}
    assert found.tool_time == {"read": 6.0, "edit": 2.0}
    assert found.steps == {"indentation": 1}
    assert found.guards == {"loop nudge": 1}
    assert found.ends == {"loop": 1}


def test_runs_without_an_end_and_other_models_and_days_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    tomorrow = {**usage(10.0), "wall": NOON + 86_400}
    rows = [started("p"), usage(8.0), started("q", model="other"), tomorrow]
    found = figures_of(rows)
    assert [(key.model, value.requests, value.ends) for key, value in sorted(found.items())] == [
        ("laguna", 1, {MISSING_END: 1}),
        ("other", 0, {}),
        ("other", 1, {MISSING_END: 1}),
    ]
    total = Figures()
    for value in found.values():
        total.add(Figures.from_dict(asdict(value)))
    assert (total.runs, total.requests, total.ends) == (2, 2, {MISSING_END: 2})
    assert all(isinstance(key, Key) for key in found)
