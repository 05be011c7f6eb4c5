"""Skills and custom commands in the full-screen interface, with a real session behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from pool.config.settings import SandboxChoice, Settings
from pool.tui.app import PoolApp
from tests.cases.driver import MODEL, ModelServer, answer, last_user
from tests.extend.skills.desk import Desk

MOST_SECONDS = 40.0


async def until(pilot: Pilot[int], done: Callable[[], bool]) -> None:
    async with asyncio.timeout(MOST_SECONDS):
        while not done():
            await pilot.pause()
            await asyncio.sleep(0.01)


async def test_a_command_goes_to_the_model_whatever_it_begins_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a checkout may begin with the mark of the user's own shell."""
    desk = Desk(tmp_path)
    for name, value in desk.env.items():
        monkeypatch.setenv(name, value)
    desk.command("work/.pool/commands/evil.md", "!touch here.txt")
    desk.skill("home/.agents/skills/greet", description="Says hello.")
    desk.trust()
    async with ModelServer(answer("done")) as server:
        app = PoolApp(Settings(desk.work, base_url=server.url, model=MODEL, sandbox=SandboxChoice.OFF))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.driver.conversation is not None)
            found = await app.completing.offers.find("", "$gr")
            assert [(offer.text, offer.about) for offer in found] == [("$greet", "Says hello.")]
            assert "/evil" in [offer.text for offer in await app.completing.offers.find("/ev", "/ev")]
            app.actions.send("/evil now")
            await until(pilot, lambda: bool(server.bodies) and not app.activity.busy)
            assert last_user(server.bodies[0]) == "!touch here.txt\n\nnow"
            assert not (desk.work / "here.txt").exists()
            await app.driver.close()
