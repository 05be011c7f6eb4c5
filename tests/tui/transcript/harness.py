"""An app with a transcript and nothing else, and what tests ask of it."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from pool.facekit.textualtheme import PREFIX, textual_theme
from pool.tui.transcript.messages import CopyRequested, PathClicked, TailChanged, UrlClicked
from pool.tui.transcript.widget import Transcript
from pool_themes import load, names


class TranscriptApp(App[None]):
    """Shows one transcript and notes what it tells."""

    CSS = "Screen { background: $background; } Transcript { height: 1fr; }"

    def __init__(self, theme: str = "pool-dark") -> None:
        super().__init__()
        for name in names():
            self.register_theme(textual_theme(load(name)))
        self.theme = PREFIX + theme
        self.transcript = Transcript(code_style=load(theme).code_style)
        self.told: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.transcript.focus()

    def on_path_clicked(self, message: PathClicked) -> None:
        self.told.append((message.path, message.line, message.column))

    def on_url_clicked(self, message: UrlClicked) -> None:
        self.told.append(message.url)

    def on_copy_requested(self, message: CopyRequested) -> None:
        self.told.append(message.text)

    def on_tail_changed(self, message: TailChanged) -> None:
        self.told.append((message.follows, message.new_below))


async def settled(pilot: Pilot[None]) -> None:
    """Wait until what was asked for is drawn."""
    app = pilot.app
    assert isinstance(app, TranscriptApp)
    await pilot.pause()
    while not app.transcript.is_drawn:
        await pilot.pause(0.01)
    await pilot.pause()


def screen(app: TranscriptApp) -> list[str]:
    """The rows that are shown, without blanks at their ends."""
    view = app.transcript
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]
