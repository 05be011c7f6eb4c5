"""The dashboard on the whole screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from pool.facekit.textualtheme import textual_theme
from pool.lab.top.board import Role, Row, board
from pool.lab.top.gauges import Readings
from pool.lab.top.watching import Watcher
from pool_themes import Colours, Theme

HINT = "q leaves · p pauses"
LEAST_WIDTH = 20
BESIDE = 3
"""Columns that are not the board's: its padding, and the scroll bar of a low terminal."""

PAUSED = "paused · p goes on · q leaves"


class TopApp(App[int]):
    """Looks at a server every so many seconds and shows what it saw. A server's text is never markup."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: $background; color: $foreground; }
    VerticalScroll { scrollbar-size-vertical: 1; }
    #board { padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #foot { dock: bottom; height: 1; padding: 0 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,ctrl+c,ctrl+d", "leave", "leave", priority=True),
        Binding("p,space", "pause", "pause", priority=True),
    ]

    def __init__(self, watcher: Watcher, theme: Theme, every_seconds: float) -> None:
        super().__init__()
        self._watcher = watcher
        self._look = theme
        self._every = every_seconds
        self._now: Readings | None = None
        self._paused = False
        self._looking = False

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="board")
        yield Static(HINT, id="foot", markup=False)

    async def on_mount(self) -> None:
        self.use(self._look)
        self.set_interval(self._every, self._tick)
        await self._tick()

    def use(self, theme: Theme) -> None:
        """Show in these colours."""
        self._look = theme
        made = textual_theme(theme)
        self.register_theme(made)
        self.theme = made.name
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def action_leave(self) -> None:
        self.exit(0)

    def action_pause(self) -> None:
        self._paused = not self._paused
        self.query_one("#foot", Static).update(PAUSED if self._paused else HINT)

    async def _tick(self) -> None:
        # A server that takes longer than an interval is not asked again meanwhile.
        if self._paused or self._looking:
            return
        self._looking = True
        try:
            self._now = await self._watcher.look()
        finally:
            self._looking = False
        self.draw()

    def draw(self) -> None:
        """Draw what was seen last."""
        width = max(LEAST_WIDTH, self.size.width - BESIDE)
        rows = board(self._watcher.server, self._now, tuple(self._watcher.speeds), width)
        self.query_one("#board", Static).update(drawn(rows, self._look.colours))


def drawn(rows: Sequence[Row], colours: Colours) -> Text:
    """Rows in a theme's colours."""
    styles = {
        Role.LABEL: colours.muted,
        Role.TEXT: colours.text,
        Role.BAR: colours.accent,
        Role.MUTED: colours.border,
        Role.GOOD: colours.success,
        Role.WARNING: colours.warning,
        Role.ERROR: colours.error,
    }
    out = Text(no_wrap=True, overflow="ellipsis")
    for row in rows:
        for text, role in row:
            out.append(text, style=_style(styles[role]))
        out.append("\n")
    return out


def _style(colour: str) -> str:
    """A theme's colour as Rich names it: `#rrggbb`, or one of the terminal's own as `ansi_bright_blue`."""
    named = colour.removeprefix("ansi_")
    return colour if named == colour else "" if named == "default" else named
