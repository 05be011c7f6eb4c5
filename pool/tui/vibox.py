"""The prompt box with the modes of vi (`ui.vi`)."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual import events

from pool.facekit.recall import Recall
from pool.tui.keys import DEFAULTS, Bound
from pool.tui.prompt import PromptBox
from pool.tui.vi import Mode, Vi
from pool.tui.vimotions import Place

REDO = "ctrl+r"

BEGIN_MARKS = frozenset("/!@")
"""In an empty box these begin a command, a shell line or a file, as they do without vi."""


class ViPromptBox(PromptBox):
    """Begins in insert mode, and does so again after each prompt. Esc is for modes only: Ctrl-C stops a run."""

    DEFAULT_CSS = "ViPromptBox { border-subtitle-color: $muted; }"

    def __init__(self, recall: Recall, keys: Bound = DEFAULTS) -> None:
        super().__init__(recall, keys)
        self.vi = Vi(_Box(self))

    def escaped(self) -> bool:
        self.vi.escape()
        self._show_mode()
        return True

    def take(self) -> tuple[str, str]:
        self.vi.insert()
        self._show_mode()
        return super().take()

    async def _on_key(self, event: events.Key) -> None:
        if self.vi.mode is Mode.INSERT or self._passes(event):
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        character = event.character or ""
        if character == "?" and not self.text:
            self.post_message(self.Asked("help"))
        elif character in BEGIN_MARKS and not self.text:
            self.vi.insert()
            self.insert(character)
        elif event.key == "backspace":
            self.vi.key("h")
        else:
            self.vi.key(REDO if event.key == REDO else character)
        self._show_mode()

    def _passes(self, event: events.Key) -> bool:
        """Whether a key means in normal mode what it means without vi: Enter, Tab, arrows and the like."""
        if event.key == REDO or event.key == "backspace":
            return False
        return event.key in self.bound_keys or not event.is_printable

    def _show_mode(self) -> None:
        self.border_subtitle = Text(self.vi.shown) if self.vi.shown else None


class _Box:
    """The box as vi edits it."""

    def __init__(self, box: PromptBox) -> None:
        self._box = box

    def lines(self) -> Sequence[str]:
        return self._box.document.lines or [""]

    def place(self) -> Place:
        return self._box.cursor_location

    def go(self, to: Place) -> None:
        self._box.move_cursor(to)

    def put(self, text: str, start: Place, end: Place) -> None:
        # A command is undone by itself, apart from what was typed before.
        self._box.history.checkpoint()
        self._box.replace(text, start, end)

    def undo(self) -> None:
        self._box.undo()

    def redo(self) -> None:
        self._box.redo()

    def history(self, step: int) -> None:
        if step < 0:
            self._box.action_up()
        else:
            self._box.action_down()
