"""The interface, headless, over a session in a real repository with a scripted model server."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot

from pool.config.settings import Mode, SandboxChoice, Settings
from pool.tui.app import PoolApp
from pool.tui.screens.linelist import LineList
from pool_themes import DEFAULT
from tests.cases.driver import MODEL, ModelServer, Step
from tests.sessions.checkpoints.repos import repository

UNTIL_SECONDS = 45.0

FILES = {"a.txt": "".join(f"line {n}\n" for n in range(1, 41)), "b.txt": "old\n"}


async def until(pilot: Pilot[int], holds: Callable[[], object]) -> None:
    """Let the app work until a condition holds."""
    end = time.monotonic() + UNTIL_SECONDS
    while not holds():
        assert time.monotonic() < end, f"it did not come to that; the screen was:\n{screen_text(pilot.app)}"
        await pilot.pause(0.01)


@asynccontextmanager
async def working(
    work: Path, *steps: Step, prompts: tuple[str, ...] = ("go",), size: tuple[int, int] = (80, 24), theme: str = DEFAULT
) -> AsyncGenerator[tuple[PoolApp, Pilot[int]]]:
    """An app that has worked some prompts. Only git's own files tell a repository from a folder."""
    if not (work / ".git").exists():
        repository(work, **FILES)
    async with ModelServer(*steps) as server:
        settings = Settings(
            work, base_url=server.url, model=MODEL, mode=Mode.ALLOW_ALL, sandbox=SandboxChoice.OFF, api_key=""
        )
        app = PoolApp(settings, theme=theme)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.driver.conversation)
            assert app.driver.conversation is not None
            for prompt in prompts:
                await app.driver.conversation.submit(prompt)
            # Events reach the screen a moment after the run's end; until then keys are for a run that works.
            conversation = app.driver.conversation
            await until(pilot, lambda: app.ran and not app.activity.busy and not conversation.busy)
            yield app, pilot
            await app.driver.close()


def rows(app: PoolApp) -> str:
    """What a list of rows in the open panel shows, as text."""
    shown = app.screen.query_one(LineList)
    lines = [shown.render_line(y).text.rstrip() for y in range(shown.size.height)]
    return "\n".join(line for line in lines if line)


def screen_text(app: App[int]) -> str:
    """Everything that is on the screen, as text."""
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage] there is no other way to the text
    return "\n".join(strip.text.rstrip() for strip in strips)
