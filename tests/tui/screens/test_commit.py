"""Committing in a real repository: hunks chosen, the user's left out, the message changed, a hook that refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pool.tui.screens.commit import CommitScreen
from tests.cases.driver import answer, call
from tests.sessions.checkpoints.repos import repository
from tests.tui.screens.kit import FILES, rows, screen_text, until, working

CHANGED = FILES["a.txt"].replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")
STEPS = (
    *(call("read", "c0", path="a.txt"), call("write", "c1", path="a.txt", content=CHANGED)),
    *(call("write", "c2", path="new.txt", content="new\n"), answer("Done."), answer("Write numbers as words")),
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = T\n\temail = t@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return repository(tmp_path / "work", **{"a.txt": FILES["a.txt"]})


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


async def test_hunks_are_chosen_and_the_message_changed(work: Path) -> None:
    async with working(work, *STEPS) as (app, pilot):
        (work / "a.txt").write_text(CHANGED.replace("line 15\n", "line 15, mine\n"))
        app.actions.command("/commit")
        await until(pilot, lambda: isinstance(app.screen, CommitScreen) and "Write numbers" in screen_text(app))
        screen = app.screen
        assert isinstance(screen, CommitScreen)
        assert "Commit on main: 3 of 4 changes" in screen_text(app)
        assert "[-] a.txt" in rows(app)
        assert "[x] line 3" in rows(app)
        assert "no line end" not in rows(app)
        await pilot.press("n", "space")
        assert "[ ] line 3" in rows(app)
        assert "[ ] line 15 yours" in rows(app)
        await pilot.press("m", "end", *" now", "escape", "c")
        await until(pilot, lambda: "committed " in screen_text(app))
        assert not app.activity.busy
    assert git(work, "log", "-1", "--format=%s").strip() == "Write numbers as words now"
    shown = git(work, "show", "HEAD")
    assert "+line thirty" in shown
    assert "+new" in shown
    assert "three" not in shown
    assert "mine" not in shown
    assert "line 15, mine" in (work / "a.txt").read_text()


async def test_a_hook_that_refuses_is_shown_and_nothing_is_lost(work: Path) -> None:
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'style: [bold]tabs in new.txt' >&2\nexit 1\n")
    hook.chmod(0o755)
    async with working(work, *STEPS, size=(60, 20)) as (app, pilot):
        app.actions.command("/commit My own words")
        await until(pilot, lambda: isinstance(app.screen, CommitScreen) and "[x] a.txt" in rows(app))
        await pilot.press("n", "space", "c")
        await until(
            pilot, lambda: isinstance(app.screen, CommitScreen) and "style: [bold]tabs in new.txt" in screen_text(app)
        )
        assert "2 of 3 changes" in screen_text(app)
        assert "My own words" in screen_text(app)
        hook.unlink()
        await pilot.press("a", "a", "c")
        screen = app.screen
        assert isinstance(screen, CommitScreen)
        assert "nothing is taken" in screen.keys.said
        await pilot.press("a", "c")
        await until(pilot, lambda: "committed " in screen_text(app))
    assert git(work, "log", "-1", "--format=%s").strip() == "My own words"
    assert git(work, "status", "--porcelain") == ""


async def test_nothing_to_commit_is_said(work: Path) -> None:
    async with working(work, answer("Nothing to do.")) as (app, pilot):
        app.actions.command("/commit")
        await until(pilot, lambda: "keeps no checkpoints" in screen_text(app) or "nothing of the" in screen_text(app))
        assert len(app.screen_stack) == 1
