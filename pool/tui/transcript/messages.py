"""What the transcript tells the app."""

from __future__ import annotations

from textual.message import Message


class PathClicked(Message):
    """A path in the text was clicked. line and column are 0 if the text does not tell them."""

    def __init__(self, path: str, line: int, column: int) -> None:
        self.path, self.line, self.column = path, line, column
        super().__init__()


class UrlClicked(Message):
    """An address in the text was clicked."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__()


class CopyRequested(Message):
    """Text is to go to the clipboard. selected: it was selected with the mouse."""

    def __init__(self, text: str, *, selected: bool) -> None:
        self.text, self.selected = text, selected
        super().__init__()


class TailChanged(Message):
    """The view follows the end or no longer does; new_below says that something came below what is shown."""

    def __init__(self, follows: bool, new_below: bool) -> None:
        self.follows, self.new_below = follows, new_below
        super().__init__()
