"""Keys that arrive together act in the order in which they were typed."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from pool.tui.panels import Item, Picker
from tests.tui.views import StillApp
from tests.tui.waiting import until


def burst(app: StillApp, *keys: str) -> None:
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def test_letters_do_not_overtake_what_corrects_them() -> None:
    app = StillApp("pool-dark")
    async with app.run_test() as pilot:
        await until(pilot, app.whole.is_set)
        burst(app, *"helo", "backspace", *"lo", "left", "left", *"X", "home", *"Y")
        await until(pilot, lambda: app.box.text == "YhelXlo")
        burst(app, *"no", "ctrl+u", "end", "ctrl+w", *"yes", "enter")
        await until(pilot, lambda: bool(app.queue.rows))
        assert app.queue.rows[0].text == "yes"


async def test_a_list_is_filtered_by_what_was_typed() -> None:
    app, picked = StillApp("pool-dark"), list[str | None]()
    async with app.run_test() as pilot:
        await until(pilot, app.whole.is_set)
        app.push_screen(Picker("Which?", [Item("1", "red"), Item("2", "blue")]), picked.append)
        await until(pilot, lambda: isinstance(app.focused, Input))
        burst(app, *"rex", "backspace", *"d", "ctrl+u", *"blu", "enter")
        await until(pilot, lambda: picked == ["2"])
