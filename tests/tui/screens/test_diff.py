"""The panel of changed files, over real sessions and repositories."""

from __future__ import annotations

import time
from pathlib import Path

from pool.tui.screens.diff import DiffScreen
from pool.tui.screens.review import Review, prompt_of
from tests.cases.driver import answer, call
from tests.tui.screens.kit import FILES, rows, until, working

CHANGED = FILES["a.txt"].replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\nand more\n")
STEPS = (
    call("read", "c0", path="a.txt"),
    call("write", "c1", path="a.txt", content=CHANGED),
    call("write", "c2", path="new.txt", content="new\n"),
    answer("Done."),
)


async def test_hunks_are_shown_kept_and_commented_on(tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with working(work, *STEPS) as (app, pilot):
        app.actions.command("/diff")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "new.txt" in rows(app))
        shown = rows(app)
        assert "▾ a.txt  +3 -2" in shown
        assert "▾ new.txt created  +1 -0" in shown
        assert "  3 - line 3" in shown
        assert "  3 + line three" in shown
        await pilot.press("enter")
        assert "line three" not in rows(app)
        await pilot.press("enter", "n", "k")
        assert "✓ kept line 3" in rows(app)
        await pilot.press("c", *"why?", "enter")
        await pilot.press("tab", "tab", "tab")
        await until(pilot, lambda: "┃ why?" in rows(app))
        await pilot.press("escape")
        assert len(app.screen_stack) == 1
        assert app.box.text == "a.txt:30\n> -line 30\n> +line thirty\n> +and more\nwhy?"
        app.box.set_text("")
        app.actions.command("/diff")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "✓ kept line 3" in rows(app))
        await pilot.press("n", "w")
        assert app.box.text == "@a.txt:3 "


async def test_a_hunk_is_taken_back_beside_later_edits_of_the_users(tmp_path: Path) -> None:
    work = tmp_path / "work"
    async with working(work, *STEPS) as (app, pilot):
        mine = (work / "a.txt").read_text().replace("line 20\n", "line 20, mine\n")
        (work / "a.txt").write_text(mine)
        app.actions.command("/diff run")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "new.txt" in rows(app))
        screen = app.screen
        assert isinstance(screen, DiffScreen)
        await pilot.press("n", "r")
        assert "r again takes back line 3 of a.txt" in screen.keys.said
        await pilot.press("up", "r")
        assert "r again takes back all of a.txt" in screen.keys.said
        assert (work / "a.txt").read_text() == mine
        await pilot.press("n", "r", "r")
        await until(pilot, lambda: "taken back: line 3" in screen.keys.said)
        assert (work / "a.txt").read_text() == mine.replace("line three\n", "line 3\n")
        await until(pilot, lambda: "↶ taken back line 3" in rows(app))
        await pilot.press("r", "r")
        await until(pilot, lambda: "nothing is left of it" in screen.keys.said)
        (work / "a.txt").write_text(mine.replace("line thirty", "line 30, mine"))
        await pilot.press("n", "r", "r")
        await until(pilot, lambda: "not taken back: it has changed" in screen.keys.said)
        assert "line 30, mine" in (work / "a.txt").read_text()


async def test_a_diff_of_ten_thousand_lines_stays_quick(tmp_path: Path) -> None:
    """Each key is answered by drawing what is in view."""
    big = "".join(f"value {n}\n" for n in range(10_000))
    async with working(tmp_path / "work", call("write", path="big.txt", content=big), answer("Done.")) as (app, pilot):
        app.actions.command("/diff")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "▸ big.txt" in rows(app))
        await pilot.press("enter")
        await until(pilot, lambda: "value 0" in rows(app))
        begun = time.perf_counter()
        await pilot.press("end", "home", *["pagedown"] * 10)
        assert time.perf_counter() - begun < 5.0
        assert "value 190" in rows(app)


async def test_odd_names_and_bytes_are_data(tmp_path: Path) -> None:
    make = """printf '\\033]52;c;aGk=\\007[red]\\ttab\\342\\200\\256\\n' > "$(printf 'a\\033[31m[bold]\\nb')"; : > e"""
    async with working(tmp_path / "work", call("shell", command=make), answer("x")) as (app, pilot):
        app.actions.command("/diff session")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "[bold]" in rows(app))
        shown = rows(app)
        assert "\x1b" not in shown
        assert "\\x1b]52;c;aGk=\\x07[red] tab\\u202e" in shown


async def test_what_is_no_text_and_what_has_no_line_end(tmp_path: Path) -> None:
    make = "head -c 300 /dev/zero > bin; rm b.txt; chmod +x a.txt; printf 'x\\r\\ny' > ends"
    async with working(tmp_path / "work", call("shell", command=make), answer("x")) as (app, pilot):
        app.actions.command("/diff")
        await until(pilot, lambda: isinstance(app.screen, DiffScreen) and "ends" in rows(app))
        shown = rows(app)
        assert "▾ a.txt  mode 100644 to 100755" in shown
        assert "▾ b.txt deleted  +0 -1" in shown
        assert "▾ bin created  binary" in shown
        assert " 1 + x ␍\n 2 + y  (no line end)" in shown
        await pilot.press("r", "r")
        await until(pilot, lambda: "↶ taken back a.txt" in rows(app))
        assert (tmp_path / "work" / "a.txt").stat().st_mode & 0o111 == 0


def test_long_hunks_are_quoted_in_part() -> None:
    review = Review()
    from pool.tui.screens.diffmodel import FileView, hunk_view

    hunk = hunk_view(0, "x", 4, 4, [("+", b"%d\n" % n) for n in range(9)])
    file = FileView("x", "modified", 9, 0, lambda: [hunk])
    review.comment(file, hunk, 5, "first")
    review.comment(file, hunk, 5, "Make it shorter.")
    review.comment(file, None, 0, "And rename it.")
    said = "x:5\n> +0\n> +1\n> +2\n> +3\n> +4\n> +5\n> … 3 more lines\nMake it shorter.\n\nx\nAnd rename it."
    assert prompt_of(review.comments) == said
    review.comment(file, hunk, 5, "")
    assert review.take_prompt() == "x\nAnd rename it."
    assert not review.comments
