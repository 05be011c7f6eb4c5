"""Tasks of subagents as cards, and the list of steps, from events and from a log alike."""

from __future__ import annotations

from pool.events import (
    CallOutput,
    CallProposed,
    CallStarted,
    TaskProgress,
    TaskStarted,
    TodoChanged,
    TodoItem,
    plain,
    to_dict,
)
from pool.tui.transcript.card import ToolCard
from pool.tui.transcript.feed import Feed
from tests.tui.transcript.harness import TranscriptApp, screen, settled
from tests.tui.transcript.test_feed import told

HOSTILE = "\x1b]52;c;aGk=\x07[bold]x"


async def test_a_task_is_a_card_with_its_steps_and_figures_and_folds_open() -> None:
    steps = [(CallOutput(f"step {number}\n"), "t") for number in range(12)]
    app = TranscriptApp()
    async with app.run_test(size=(80, 40)) as pilot:
        feed = Feed(app.transcript)
        begun = [
            (CallProposed("task", {}, "read", f"explore: {HOSTILE}", "text", "Look"), "t"),
            (CallStarted("task"), "t"),
            (TaskStarted("explore", HOSTILE, "s1"), "t"),
        ]
        for event in told([*begun, *steps, (TaskProgress("writes", 3, 12_300, 4.0), "t")]):
            feed.show(event)
        await settled(pilot)
        rows = [row for row in screen(app) if row]
        assert "… · writes, 3 turns, 12k tokens · running" in rows[0]
        assert "\x1b" not in rows[0]
        assert rows[-1].strip() == "│ step 11"
        assert not any("step 0" in row for row in rows)
        card = app.transcript.store.entries[0].block
        assert isinstance(card, ToolCard)
        app.transcript.fold_all(False)
        await settled(pilot)
        assert any("step 0" in row for row in screen(app))


async def test_the_list_of_steps_comes_back_from_a_log_and_goes_with_the_conversation() -> None:
    items = (TodoItem("look", "done"), TodoItem("mend", "now"))
    rows = [plain(to_dict(event)) for event in told([TodoChanged(items[:1]), TodoChanged(items)])]
    app, seen = TranscriptApp(), list[object]()
    async with app.run_test(size=(80, 20)):
        feed = Feed(app.transcript)
        feed.on_todo = seen.append
        feed.replay(rows)
        feed.clear()
    assert seen == [items[:1], items, ()]
