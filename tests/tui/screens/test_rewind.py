"""Going back in a real session: what would happen is shown, one's own edits stay, and it can be redone."""

from __future__ import annotations

from pathlib import Path

from pool.tui.screens.rewind import RewindScreen
from tests.cases.driver import answer, call
from tests.tui.screens.kit import FILES, screen_text, until, working

STEPS = (
    *(call("read", "c0", path="b.txt"), call("write", "c1", path="b.txt", content="new\n"), answer("First done.")),
    *(call("write", "c2", path="c.txt", content="c\n"), call("write", "c3", path="d.txt", content="d\n")),
    answer("Second done."),
)
PROMPTS = ("Change b\nplease", "Make c and d")


async def test_files_and_conversation_go_back_and_come_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with working(work, *STEPS, prompts=PROMPTS) as (app, pilot):
        (work / "d.txt").write_text("d, and mine\n")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, RewindScreen) and "leave    d.txt" in screen_text(app))
        shown = screen_text(app)
        assert "2 files +2 -0           Make c and d" in shown
        assert "1 prompt taken back" in shown
        assert "1 file put back, 1 left as it is" in shown
        assert "delete   c.txt  +0 -1" in shown
        assert "leave    d.txt  you changed it since" in shown
        await pilot.press("up")
        await until(pilot, lambda: "restore  b.txt  +1 -1" in screen_text(app))
        assert "2 prompts taken back" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "/redo takes this" in screen_text(app))
        assert (work / "b.txt").read_text() == FILES["b.txt"]
        assert not (work / "c.txt").exists()
        assert (work / "d.txt").read_text() == "d, and mine\n"
        assert app.box.text == PROMPTS[0]
        assert "First done" not in screen_text(app)
        app.box.set_text("")
        app.actions.command("/undo")
        await until(pilot, lambda: "redo the last undo" in screen_text(app))
        await pilot.press("r")
        await until(pilot, lambda: "Second done." in screen_text(app) and "/undo takes this" in screen_text(app))
        assert (work / "b.txt").read_text() == "new\n"


async def test_only_the_files(tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with working(work, *STEPS, prompts=PROMPTS, size=(40, 12)) as (app, pilot):
        app.actions.command("/undo")
        await until(pilot, lambda: isinstance(app.screen, RewindScreen) and "delete   d.txt" in screen_text(app))
        await pilot.press("f")
        await until(pilot, lambda: not (work / "c.txt").exists())
        await until(pilot, lambda: "2 files put back" in screen_text(app))
        assert app.box.text == ""
        assert (work / "b.txt").read_text() == "new\n"
        # Enter before it is known what going back to the first prompt would do.
        app.actions.command("/undo")
        await until(pilot, lambda: isinstance(app.screen, RewindScreen) and "Make c and d" in screen_text(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: (work / "b.txt").read_text() == FILES["b.txt"] and app.box.text == PROMPTS[0])
