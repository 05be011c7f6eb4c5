"""The line that says what goes on, where there is little room."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import App, ComposeResult

from pool.facekit.textualtheme import textual_theme
from pool.tui.lines import GAP, ActivityLine, fitting
from pool_themes import load
from tests.tui.waiting import until

LONG = "connection refused at http://127.0.0.1:9977/v1; nothing listens there"


def test_a_long_detail_leaves_room_for_the_time_and_the_hint() -> None:
    words = fitting(["connecting", LONG, "12 s"], 70)
    assert (words[0], words[2]) == ("connecting", "12 s")
    assert words[1].startswith("connection refused at")
    assert words[1].endswith("…")
    assert 2 + cell_len(GAP.join(words)) < 70


def test_wide_characters_count_two_cells() -> None:
    words = fitting(["running", "設定を読む" * 10, "3 s"], 40)
    assert 2 + cell_len(GAP.join(words)) < 40


def test_the_time_stays_where_there_is_no_room_for_a_detail() -> None:
    assert fitting(["waiting for your answer", "shell", "1 s"], 38) == ["waiting for your answer", "1 s"]


def test_what_fits_or_cannot_be_made_to_fit_stays() -> None:
    for words, width in (
        (["reading", "about 5 tokens", "2 s"], 70),
        (["thinking"], 3),
        (["waiting for your answer", "edit"], 20),
    ):
        assert fitting(words, width) == words


class LineApp(App[None]):
    """The line alone, at work."""

    def __init__(self) -> None:
        super().__init__()
        self.line = ActivityLine(lambda: ["running", "pytest", "3 s"], lambda: ("Esc stops", False))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return textual_theme(load("pool-dark")).variables

    def compose(self) -> ComposeResult:
        yield self.line

    @property
    def shown(self) -> str:
        return self.line.render_line(0).text.strip()


async def test_what_is_said_for_a_while_is_seen_in_a_narrow_window_and_outlives_what_was_said_before() -> None:
    app = LineApp()
    async with app.run_test(size=(40, 12)) as pilot:
        assert app.shown.endswith("Esc stops")
        app.line.tell("before", 0.02)
        app.line.tell("9 characters copied to the terminal; also in ~/copied.txt", 0.3)
        said = "9 characters copied to the terminal; …"
        assert app.shown == said
        await pilot.pause(0.05)
        assert app.shown == said
        await until(pilot, lambda: app.shown.endswith("Esc stops"))
