"""What the short way writes to the terminal makes the picture that Textual would have made."""

from __future__ import annotations

from typing import Any

import pyte
import pytest
from rich.console import RenderableType
from rich.segment import Segment
from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Label, Static

from pool.tui.compositor import DirectCompositor, DirectScreen, PlacedStrips
from pool.tui.transcript.answer import Answer
from tests.tui.transcript.harness import TranscriptApp, settled

COLUMNS, ROWS = 60, 20
TEXT = """## A heading

Words with **weight** and `code`, 日本語 and 🎉, long enough for two rows of it.

```python
x = 1
```

"""


class DirectApp(TranscriptApp):
    """A transcript, a line below it, and something that can be laid over both. Notes what goes to the terminal."""

    CSS = """
    Screen { layers: base above; background: $background; }
    Transcript { height: 1fr; }
    #over { layer: above; width: 20; height: 3; offset: 10 5; background: red; display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.line = Static("below")
        self.over = Label("over it", id="over")
        self.terminal = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.Stream(self.terminal)
        self.direct = 0

    def get_default_screen(self) -> Screen[None]:
        return DirectScreen(id="_default")

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield self.line
        yield self.over

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, CompositorUpdate):
            self.direct += isinstance(renderable, PlacedStrips)
            self.stream.feed(renderable.render_segments(self.console))
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType] a screen's result is left open


def look(terminal: pyte.Screen) -> list[list[tuple[str, str, str, bool]]]:
    """Each cell's character and colours."""
    rows = [[terminal.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]
    return [[(cell.data, cell.fg, cell.bg, cell.bold) for cell in row] for row in rows]


def drawn_whole(app: App[None]) -> pyte.Screen:
    """The picture as Textual draws it from nothing."""
    terminal = pyte.Screen(COLUMNS, ROWS)
    update = app.screen._compositor.render_full_update()  # pyright: ignore[reportPrivateUsage] there is no other way
    pyte.Stream(terminal).feed(update.render_segments(app.console))
    return terminal


async def test_the_picture_is_the_one_that_textual_draws() -> None:
    app = DirectApp()
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        entry = app.transcript.add(Answer(), open_=True)
        for number in range(12):
            app.transcript.append_text(entry, TEXT[number % 7 :])
            app.line.update(f"step {number}")
            if number == 4:
                app.over.display = True
            if number == 9:
                app.over.display = False
            await settled(pilot)
            if number % 3 == 0:
                assert look(app.terminal) == look(drawn_whole(app)), f"after step {number}"
        app.transcript.search("weight")
        await pilot.press("up", "k", "pageup")
        await settled(pilot)
        assert look(app.terminal) == look(drawn_whole(app))
    assert app.direct > 5


async def test_a_textual_without_a_private_name_draws_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise AttributeError("a name that this Textual does not have")

    app = DirectApp()
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await settled(pilot)
        monkeypatch.setattr(DirectCompositor, "_only_widget", missing)
        entry = app.transcript.add(Answer(), open_=True)
        before = app.direct
        for number in range(3):
            app.transcript.append_text(entry, TEXT)
            app.line.update(f"step {number}")
            await settled(pilot)
        assert look(app.terminal) == look(drawn_whole(app))
    assert app.direct == before


def test_strips_come_with_their_places() -> None:
    app = DirectApp()
    update = PlacedStrips([(3, 1, Strip([Segment("ab")]))], None)
    assert update.render_segments(app.console) == "\x1b[2;4Hab"
