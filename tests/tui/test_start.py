"""The start: what is typed before everything is loaded is not lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pool.config.settings import Settings
from pool.tui import app as app_module
from pool.tui.app import PoolApp
from pool.tui.rest import load_rest
from tests.tui.waiting import until

NOWHERE = "http://127.0.0.1:9/v1"
"""An address at which nothing listens."""

MOST_WAIT_SECONDS = 30.0


async def test_what_is_typed_while_the_rest_is_loaded_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    may_load = threading.Event()

    def slow() -> None:
        may_load.wait(MOST_WAIT_SECONDS)
        load_rest()

    monkeypatch.setattr(app_module, "load_rest", slow)
    app = PoolApp(Settings(tmp_path, base_url=NOWHERE))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"first", "enter", "escape", "tab", *"/sta")
        await until(pilot, lambda: app.box.text == "/sta")
        assert not app.whole.is_set()
        may_load.set()
        await app.whole.wait()
        assert [row.text for row in app.queue.rows] == ["first"]
        assert app.box.text == "/sta"
        await until(pilot, lambda: app.completion.open)
