"""Text from a model, a tool or a file is data: no escape of it reaches a terminal."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st

from pool.agent.hub import EventHub
from pool.events import (
    CallFinished,
    CallOutput,
    CallProposed,
    ContentDelta,
    GuardFired,
    Notice,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    StopReason,
    Usage,
    Waiting,
)
from pool.headless.output import Progress
from pool.headless.plain import one_line, safe

DANGEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(st.text())
def test_nothing_dangerous_is_left(text: str) -> None:
    assert not DANGEROUS.search(safe(text, terminal=True))


def test_text_is_kept_and_escapes_are_visible() -> None:
    assert safe("a\tb\nc é 日本 🚀", terminal=True) == "a\tb\nc é 日本 🚀"
    assert safe("\x1b]52;c;aGk=\x07", terminal=True) == "\\x1b]52;c;aGk=\\x07"
    assert safe("a\u2028b\x85c", terminal=False) == "a\u2028b\x85c"


@given(st.text())
def test_progress_shows_no_escape_of_anybody(text: str) -> None:
    err = io.StringIO()
    progress = Progress(err, 2)
    hub = EventHub("s")
    for body in (
        ReasoningDelta(text),
        ContentDelta(text),
        CallProposed(text, {}, "read", text, "command", text),
        CallOutput(text),
        CallFinished(text, "ok", text, 0.1),
        Notice("error", text, text),
    ):
        progress.show(hub.emit(body, "c"))
    assert not DANGEROUS.search(err.getvalue())


@given(st.text())
def test_a_part_of_a_line_stays_on_it(text: str) -> None:
    assert len(f"a{one_line(text)}b".splitlines()) == 1


def ended(reason: StopReason, detail: str = "") -> RunFinished:
    return RunFinished(reason, 5, detail, answer="A.", turns=1, seconds=1.0, usage=Usage())


def test_why_a_run_ended_before_its_time_is_said_also_without_progress() -> None:
    hub = EventHub("s")
    for bodies, said in (
        ([ended(StopReason.COMPLETED)], ""),
        ([ended(StopReason.MAX_TURNS, "1 of 1 turns\x1b")], "pool: max_turns: 1 of 1 turns\\x1b\n"),
        ([Notice("error", "no answer"), ended(StopReason.SERVER_FAILED, "no answer")], "pool: no answer\n"),
    ):
        err = io.StringIO()
        progress = Progress(err, 0)
        for body in bodies:
            progress.show(hub.emit(body))
        assert err.getvalue() == said


def test_no_name_of_a_server_forges_a_line() -> None:
    err = io.StringIO()
    progress = Progress(err, 1)
    hub = EventHub("s")
    for body in (
        RunStarted("p", "/w", "m\npool: all is well", "http://h/v1\r\n", "ask", "off"),
        Notice("warning", "the server says\npool: all is well", "do\npool: this"),
        GuardFired("loop", "stop", "x\npool: all is well"),
        Waiting("retry", "x\npool: all is well"),
    ):
        progress.show(hub.emit(body))
    lines = err.getvalue().splitlines()
    assert len(lines) == 5
    assert "m\\npool: all is well" in lines[0]
