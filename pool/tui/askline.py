"""A panel that asks for one line of text."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from pool.facekit.plain import plain
from pool.tui.beside import BesideCloses
from pool.tui.inorder import Line


class AskLine(BesideCloses[str | None]):
    """Returns the line, or None if the user closed it. about is data."""

    DEFAULT_CSS = """
    AskLine { align: center middle; background: $background 60%; }
    AskLine > Vertical {
        width: 90%; max-width: 90; height: auto; border: round $border-focused; background: $surface; padding: 0 1;
        border-title-color: $accent; border-subtitle-color: $muted;
    }
    AskLine Static { height: auto; color: $muted; }
    AskLine Input, AskLine Input:focus { border: none; height: 1; background: $panel; padding: 0 1; margin: 1 0 0 0; }
    """

    def __init__(self, title: str, about: str = "", value: str = "", placeholder: str = "") -> None:
        super().__init__()
        self._title = title
        self._about = about
        self._value = value
        self._placeholder = placeholder
        self._early: list[events.Key] | None = []

    def compose(self) -> ComposeResult:
        box = Vertical(
            Static(Text(self._about), markup=False),
            Line(self._value, placeholder=plain(self._placeholder), select_on_focus=False),
        )
        box.border_title = Text(plain(self._title))
        box.border_subtitle = "Enter takes it, Esc closes"
        yield box

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        early, self._early = self._early or [], None
        for event in early:
            self.type_early(event)

    def on_key(self, event: events.Key) -> None:
        if not self.query_one(Input).has_focus:
            self.type_early(event)

    def type_early(self, event: events.Key) -> None:
        """Take a key that was typed before the line had the focus."""
        if self._early is not None:
            self._early.append(event)
        elif event.key == "enter":
            self.dismiss(self.query_one(Input).value.strip())
        elif event.is_printable and event.character:
            self.query_one(Input).insert_text_at_cursor(event.character)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())
