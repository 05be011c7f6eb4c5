"""`/model` in the interface: what a hosted server would get is read in full before it gets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

from pool.tui.panels import Picker
from tests.cases.driver import MODEL, answer
from tests.tui.screens.kit import until, working


async def test_the_question_says_what_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "pool" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[profiles.far.server]\nbase_url = 'https://api.example.com/v1'\nmodel = 'big'\n")
    async with working(tmp_path / "work", answer("Done."), size=(60, 24)) as (app, pilot):
        app.actions.command("/model far:")
        await until(pilot, lambda: isinstance(app.screen, Picker) and app.screen.query("#body"))
        body = app.screen.query_one("#body", Static)
        await until(pilot, lambda: body.region.height > 2)
        words = " ".join(str(body.render_line(y).text).strip() for y in range(body.size.height))
        assert "api.example.com is not on this machine or in your network" in words
        assert "the whole conversation" in words
        assert words.endswith("and all that follows")
        await pilot.press("escape")
        assert app.driver.conversation is not None
        assert app.driver.conversation.status().model == MODEL
