"""Pictures of the panels that need a session and its repository, in one app, in a dark and a light theme."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.sessions.log import Header, SessionLog
from pool.sessions.store import sessions_folder
from tests.cases.driver import answer, call
from tests.sessions.checkpoints.repos import repository
from tests.tui.pictures import compare, picture
from tests.tui.screens.kit import screen_text, until, working

BEFORE = "def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return len(prices)\n"
AFTER = BEFORE.replace("sum(prices)", "sum(map(Decimal, prices))")
STEPS = (
    call("read", "c0", path="shop.py"),
    call("write", "c1", path="shop.py", content=f"from decimal import Decimal\n\n\n{AFTER}"),
    call("write", "c2", path="notes.md", content="Totals are decimals.\n"),
    answer("The totals are exact now."),
    answer("Add prices up as decimals"),
)
LONG_AGO = 1_000_000_000.0

PANELS: tuple[tuple[str, str, str], ...] = (
    ("files-changed", "/diff", "notes.md"),
    ("go-back", "/undo", "delete   notes.md"),
    ("sessions", "/resume", "Mend the parser"),
    ("budgets", "/budget", "Esc closes"),
    ("model-and-server", "server", "What the server can"),
    ("jobs", "/jobs", "Esc closes"),
    ("commit", "/commit", "Add prices up"),
)
"""Name, command, and what stands on the screen when it is there."""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = T\n\temail = t@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return repository(tmp_path / "work", **{"shop.py": BEFORE})


def earlier_session(work: Path) -> None:
    """A session of long ago, whose age is a date."""
    header = Header("0190aaaa-0000-7000-8000-0000deadbeef", str(work), LONG_AGO, "0.1.0")
    with SessionLog.create(sessions_folder(), header, print) as log:
        row = {"type": "run.started", "prompt": "Mend the parser", "model": "laguna-s-2.1", "workspace": str(work)}
        log.write({**row, "ts": LONG_AGO}, sync=True)


async def test_panels_say_what_they_said(work: Path, tmp_path: Path) -> None:
    earlier_session(work)
    drawn: dict[str, str] = {}
    async with working(work, *STEPS, prompts=("Make the totals exact",), theme="pool-dark") as (app, pilot):
        for name, command, seen in PANELS:
            app.actions.panels._picked(command)  # pyright: ignore[reportPrivateUsage] as Ctrl+O does
            await until(pilot, lambda seen=seen: len(app.screen_stack) > 1 and seen in screen_text(app))
            for theme in ("dark", "light"):
                app.use_theme(f"pool-{theme}")
                await pilot.pause()
                drawn[f"{name}-{theme}.svg"] = await picture(app, pilot, f"{name}-{theme}.svg")
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
    for name, svg in drawn.items():
        compare(name, svg, tmp_path)
