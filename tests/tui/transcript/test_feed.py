"""From events to blocks: runs of the real agent with the simulated server, as they happen and from their logs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pool.events import (
    ApprovalAsked,
    ApprovalGiven,
    Body,
    CallFinished,
    CallOutput,
    CallProgress,
    CallProposed,
    CallStarted,
    ChangedFile,
    Compacted,
    ContentDelta,
    ContentRetracted,
    Envelope,
    Event,
    GuardFired,
    MessageAdded,
    ModeChanged,
    Notice,
    QuestionAnswered,
    QuestionAsked,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    Steered,
    StopReason,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
    to_dict,
)
from pool.facekit.decode import event_of, events_of
from pool.messages import Message, ReasoningField, Role, encode
from pool.sessions.log import read_rows
from pool.sessions.store import last_of, sessions_folder
from pool.sim.process import running
from pool.sim.settings import DEFAULT_MODEL, SimSettings
from pool.tui.transcript.card import CallState, ToolCard
from pool.tui.transcript.feed import Feed
from tests.cases.driver import driving
from tests.tui.transcript.harness import TranscriptApp, screen, settled

CALLS = "".join(
    f"<tool_call>{name}{arguments}</tool_call>"
    for name, arguments in (
        ("read", "<arg_key>path</arg_key><arg_value>notes.txt</arg_value>"),
        ("shell", "<arg_key>command</arg_key><arg_value>seq 30; exit 3</arg_value>"),
        (
            "write",
            "<arg_key>path</arg_key><arg_value>new.txt</arg_value><arg_key>content</arg_key><arg_value>a\nb</arg_value>",
        ),
    )
)
SCRIPT = (f"I look first.</think>I do **three** things.{CALLS}", "Good.</think># Done\n\n- all `three`")


def told(bodies: Sequence[Body | tuple[Body, str]]) -> list[Event]:
    """Bodies, or bodies with the id of their call, as events."""
    out: list[Event] = []
    for number, one in enumerate(bodies):
        body, call = one if isinstance(one, tuple) else (one, "")
        out.append(Event(Envelope("s", "r", 1, number, 0.0, 0.0, "", call), body))
    return out


async def shown(events: Sequence[Event] | None = None, rows: Sequence[dict[str, Any]] | None = None) -> list[str]:
    """What events, or a log's rows, look like; without empty rows."""
    app = TranscriptApp()
    async with app.run_test(size=(100, 80)) as pilot:
        feed = Feed(app.transcript)
        for event in events or ():
            feed.show(event)
        feed.replay(rows or ())
        await settled(pilot)
        return [row for row in screen(app) if row]


def without_times(rows: Sequence[str]) -> list[str]:
    """Rows without what a log does not keep: counts and seconds of thoughts."""
    return [row.split(" · ")[0].split(" for ")[0] if "Thought" in row else row for row in rows]


@pytest.mark.parametrize("faults", [(), ("leaked-think",), ("same-index",), ("think-in-content",)])
async def test_a_run_looks_the_same_live_and_from_its_log(faults: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("alpha\nbeta\n")
    script = SCRIPT if not faults else ()
    with running(SimSettings(faults=faults, script=script)) as sim:
        async with driving(sim.url, tmp_path, model=DEFAULT_MODEL) as driver:
            await driver.run("What does notes.txt say?")
            events = list(driver.events)
    rows, _ = read_rows(last_of(sessions_folder(), str(tmp_path)).path.read_bytes())
    live = without_times(await shown(events))
    assert live == without_times(await shown(rows=rows))
    assert live[0] == "▌ What does notes.txt say?"
    assert "  ▸ Thought" in live
    assert live[-1].startswith(("  ✓ completed", "    "))
    if not faults:
        assert live[2:5] == [
            "  I do three things.",
            "  ✓ Read notes.txt · 2 lines",
            "  ✗ $ seq 30; exit 3 · failed · exit 3",
        ]
        assert "  │ 2 + b" in live
        assert "  • all three" in live


def test_every_event_of_a_log_is_read_back() -> None:
    bodies: list[Body] = [
        RunFinished(StopReason.LOOP, 6, "d", "a", 1, 2.0, Usage(1, 2, 3, 4), (ChangedFile("p", "modified", 1, 2),)),
        CallFinished("n", "ok", "t", 1.0, {"exit_status": 1}, (ChangedFile("p", "created"),)),
        UsageReported(Usage(1, 2), 0.5, 1.5),
        GuardFired("g", "note", "d"),
    ]
    events = told(bodies)
    assert list(events_of(to_dict(event) for event in events)) == events


@pytest.mark.parametrize(
    "row", [{}, {"type": "new.kind"}, {"type": "notice"}, {"type": "message.added", "role": 1, "text": []}, {"type": 3}]
)
def test_rows_that_cannot_be_read_are_left_out(row: dict[str, Any]) -> None:
    assert event_of({"session": "s", "run": "", "turn": 0, "seq": 0, "wall": 0, "mono": 0, **row}) is None


async def test_content_that_was_thinking_moves_into_a_thought() -> None:
    rows = await shown(
        told([TurnStarted(1, 1), ContentDelta("Let me think."), ContentRetracted("reasoning"), ContentDelta("Hi")])
    )
    assert without_times(rows) == ["  ▸ Thought", "  Hi"]


async def test_a_reply_that_is_asked_for_again_is_taken_back() -> None:
    events = told(
        [
            TurnStarted(1, 1),
            ReasoningDelta("hm"),
            ContentDelta("half"),
            CallProgress(0, "write", 10, "a.py"),
            ContentRetracted("discarded"),
            ContentDelta("whole"),
            UsageReported(Usage(1, 1), 0.1, 0.2),
        ]
    )
    assert await shown(events) == ["  whole"]


async def test_a_call_from_its_first_argument_to_its_end() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 20)) as pilot:
        feed = Feed(app.transcript)
        heads: list[str] = []
        for event in told(
            [
                CallProgress(0, "shell", 12),
                CallProgress(0, "shell", 40),
                (CallProposed("shell", {}, "execute", "Run", "command", "make"), "c"),
                (ApprovalAsked("shell", "it writes"), "c"),
                (ApprovalGiven(True, "person"), "c"),
                (CallStarted("shell"), "c"),
                (CallOutput("building\n"), "c"),
                (CallFinished("shell", "ok", "built", 0.1, {"exit_status": 0}), "c"),
            ]
        ):
            feed.show(event)
            await settled(pilot)
            head = " ".join(row.strip() for row in screen(app) if row)
            heads.append(re.sub(r"running \d+ s", "running", head))
    assert heads == [
        "● shell · writing arguments, 12 characters",
        "● shell · writing arguments, 40 characters",
        "● $ make",
        "? $ make · waits for your answer │ it writes",
        "● $ make",
        "● $ make · running",
        "● $ make · running │ building",
        "✓ $ make │ built",
    ]


async def test_remarks_of_all_kinds() -> None:
    events = told(
        [
            RunStarted("go", "/w", "m", "s", "auto", "none"),
            Steered("and quickly"),
            GuardFired("loops", "nudge", "the same call again", "12 s"),
            Notice("info", "told"),
            Notice("warning", "slow", "wait"),
            Notice("error", "broken", "mend it"),
            Compacted(900, 100, "the first half", 1),
            MessageAdded("assistant", '{"role":"assistant","content":"stands in"}'),
            QuestionAsked("q", "Which?"),
            QuestionAnswered("q", True, "this"),
            (CallProposed("read", {}, "read", "Read a"), "c"),
            RunFinished(StopReason.INTERRUPTED, 130, "Esc", "", 2, 65.0, Usage(10, 5, estimated=True)),
        ]
    )
    assert await shown(events) == [
        "▌ go",
        "▌ while it worked",
        "▌ and quickly",
        "  ! guard loops: nudge: the same call again (12 s)",
        "  · told",
        "  ! slow",
        "    wait",
        "  ┃ ✗ broken",
        "  ┃ → mend it",
        "  · compacted: 900 to 100 tokens: the first half",
        "  · Which? → this",
        "  ⊘ Read a · interrupted",
        "  │ the run ended before this call did",
        "  ! interrupted: Esc · 2 turns · ~10 tokens read (0 cached), 5 written · 1 min 05 s",
    ]


async def test_a_session_of_messages_only() -> None:
    reply = Message(Role.ASSISTANT, "**Yes**", "hm", ReasoningField.REASONING)
    call = (
        '{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function",'
        '"function":{"name":"read","arguments":"{}"}}]}'
    )
    events = told(
        [
            MessageAdded("system", '{"role":"system","content":"hidden"}'),
            MessageAdded("user", '{"role":"user","content":"Is it?"}'),
            MessageAdded("assistant", encode(reply).data.decode()),
            MessageAdded("assistant", call),
            MessageAdded("tool", '{"role":"tool","tool_call_id":"1","content":"a"}'),
            MessageAdded("assistant", "no json"),
        ]
    )
    rows = await shown(rows=[to_dict(event) for event in events])
    assert without_times(rows) == ["▌ Is it?", "  ▸ Thought", "  Yes", "  ✓ read {} · 1 line"]


async def test_a_session_of_messages_after_one_that_was_watched() -> None:
    watched = told([TurnStarted(1, 1), ContentDelta("Watched.")])
    rows = [to_dict(event) for event in told([MessageAdded("assistant", '{"content": "Read."}')])]
    assert await shown(watched, rows) == ["  Watched.", "  Read."]


async def test_of_a_reply_whose_beginning_was_missed_all_is_shown_in_the_end() -> None:
    events = told(
        [
            TurnStarted(1, 1),
            ContentDelta("of it."),
            MessageAdded("assistant", '{"role":"assistant","content":"All of it."}'),
            TurnFinished("stop", "whole", 0),
        ]
    )
    assert await shown(events) == ["  All of it."]


async def test_a_long_session_is_replayed_without_being_laid_out() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 20)) as pilot:
        one = [RunStarted("p", "/w", "m", "s", "auto", "none"), MessageAdded("assistant", '{"content":"*hi*"}')]
        rows = [to_dict(event) for event in told(one)] * 2000
        Feed(app.transcript).replay(rows)
        await settled(pilot)
        laid_out = [entry for entry in app.transcript.store.entries if entry.rows is not None]
        assert len(laid_out) < 40
        assert screen(app)[-1] == "  hi"


async def test_clearing_in_the_middle_of_a_reply() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 20)) as pilot:
        feed = Feed(app.transcript)
        before, after = told([TurnStarted(1, 1), ContentDelta("before ")]), told([ContentDelta("after")])
        for event in before:
            feed.show(event)
        old = app.transcript.store.entries[0]
        feed.clear()
        app.transcript.append_text(old, "lost")
        for event in after:
            feed.show(event)
        await settled(pilot)
        assert [row for row in screen(app) if row] == ["  after"]


async def test_changes_of_the_mode_are_one_line_and_a_note_of_pools_is_no_word_of_the_users() -> None:
    note = '{"role":"user","content":"Mend it.\\n\\n[Pool] The session goes on elsewhere."}'
    rounds = [ModeChanged("auto", "default"), ModeChanged("plan", "auto"), ModeChanged("default", "plan")]
    assert await shown(told([*rounds[:2], MessageAdded("user", note), *rounds])) == [
        "  · mode: default to plan",
        "▌ Mend it.",
        "  · The session goes on elsewhere.",
    ]


async def test_a_call_that_asks_while_it_works_goes_on_working() -> None:
    calls = [
        (CallProposed("shell", {}, "execute", "Run", "command", "make"), "c"),
        (CallStarted("shell"), "c"),
        (ApprovalAsked("shell", "it reaches a host"), "c"),
        (ApprovalGiven(True, "person"), "c"),
        (CallOutput("building\n"), "c"),
    ]
    app = TranscriptApp()
    async with app.run_test(size=(80, 20)):
        feed = Feed(app.transcript)
        for event in told(calls):
            feed.show(event)
        card = app.transcript.store.entries[0].block
    assert isinstance(card, ToolCard)
    assert card.facts.state is CallState.RUNNING
