"""What the panels for approvals and for questions share: one question shown, answers by key, and a line for words.

A key that was on its way when a question came must not answer it: no key counts before none came for `SETTLE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Generic, TypeVar, cast

from textual import events
from textual.message import Message
from textual.signal import Signal
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from pool.facekit.approving import SETTLE_SECONDS
from pool.tui.inorder import Line

KEY_NOT_TAKEN = "that key came too soon to be an answer: one moment"
KEYS_COUNT = "keys answer now"
NO_ANSWER = "that key is none of the answers"

Q = TypeVar("Q")
A = TypeVar("A")


class WordsLine(Line):
    """The line for words of an `AnswerPanel`.

    Words typed before the line had the focus came by way of the panel: the focus must not select them, since the next
    key would then replace them, and no key may pass those that the panel has not handled yet.
    """

    def __init__(self, placeholder: str) -> None:
        super().__init__(id="words", placeholder=placeholder, select_on_focus=False)

    def on_key(self, event: events.Key) -> None:
        panel = self.parent
        if isinstance(panel, AnswerPanel) and panel.message_queue_size:
            event.stop()
            event.prevent_default()
            panel.post_message(events.Key(event.key, event.character))


class AnswerPanel(Widget, Generic[Q, A], can_focus=True):
    """Shows one of the questions that wait; hidden when there is none. Subclasses draw, and know the keys.

    A subclass has a `WordsLine`, shown while the panel has the class `writing`.
    """

    DEFAULT_CSS = """
    AnswerPanel { height: auto; display: none; border: round $mode-ask; padding: 0 1; background: $background; }
    AnswerPanel.open { display: block; }
    AnswerPanel:focus-within, AnswerPanel:focus { border: round $border-focused; }
    AnswerPanel > #words, AnswerPanel > #words:focus { border: none; }
    AnswerPanel > #words { display: none; height: 1; background: $panel; padding: 0; }
    AnswerPanel.writing > #words { display: block; }
    """

    class Settled(Message):
        """No question waits any more."""

    class Raised(Message):
        """A question came up."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._at = 0
        self._since = 0.0
        self._told: Timer | None = None

    def on_mount(self) -> None:
        changed = cast("Signal[object]", self.app.theme_changed_signal)  # pyright: ignore[reportUnknownMemberType] Textual leaves the app's type open
        changed.subscribe(self, self._recolour)

    def _recolour(self, theme: object) -> None:
        if self._waiting and not self.writing:
            self.draw()

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return len(self._waiting)

    @property
    def shown(self) -> Q:
        """The question that is shown. Only while one waits."""
        return self._waiting[self._at][0]

    @property
    def writing(self) -> bool:
        """Whether the person writes words; no key is an answer then, and the question shown stays."""
        return self.has_class("writing")

    @property
    def ready(self) -> bool:
        """Whether a key may answer."""
        return bool(self._waiting) and time.monotonic() - self._since >= SETTLE_SECONDS

    async def ask(self, question: Q) -> A:
        """Put a question to the person; returns when it is answered. Cancelled, it leaves no trace."""
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        entry = (question, answer)
        self._waiting.append(entry)
        if len(self._waiting) == 1:
            self._begin()
        elif not self.writing:
            self.draw()
        self.post_message(self.Raised())
        try:
            return await answer
        finally:
            self._remove(entry)

    def _remove(self, entry: tuple[Q, asyncio.Future[A]]) -> None:
        place = self._waiting.index(entry)
        was_shown = place == self._at
        del self._waiting[place]
        if not self.is_attached:
            return  # The app is gone; its run goes on, and somebody else has answered.
        if place < self._at:
            self._at -= 1
        if was_shown:
            self._at = 0
            self._begin()
        elif not self.writing:
            self.draw()
        if not self._waiting:
            self.post_message(self.Settled())

    def _begin(self) -> None:
        """Another question is shown: what is typed now was not meant for it."""
        self.remove_class("writing")
        self.query_one("#words", Input).value = ""
        self._since = time.monotonic()
        self.border_subtitle = ""
        self.set_class(bool(self._waiting), "open")
        if self._waiting:
            self.draw()

    def _say_waiting(self) -> None:
        """Say that a key was not taken, until one would be."""
        self.border_subtitle = KEY_NOT_TAKEN
        if self._told is not None:
            self._told.stop()
        self._told = self.set_timer(SETTLE_SECONDS, self._say_ready)

    def _say_ready(self) -> None:
        self._told = None
        self.border_subtitle = KEYS_COUNT if self._waiting else ""

    def settle_anew(self) -> None:
        """The keys come back from the box: what is still on its way was meant for that."""
        self._since = time.monotonic()

    def came_too_soon(self) -> None:
        """A letter came before any counts: somebody is typing, and the next letters are no answers either."""
        self._since = time.monotonic()
        self._say_waiting()

    def open_words(self, key: str) -> bool:
        """Open the line for words if that is what a letter does: what follows it at once is meant for that line."""
        return False

    def draw(self) -> None:
        """Draw the question that is shown."""
        raise NotImplementedError

    def press(self, key: str) -> bool:
        """Do what a key means; False if it means nothing here."""
        raise NotImplementedError

    def say(self, words: str) -> None:
        """Take the words that were written."""
        raise NotImplementedError

    def settle(self, answer: A) -> None:
        """Answer the question that is shown."""
        future = self._waiting[self._at][1]
        if not future.done():
            future.set_result(answer)

    def turn(self, by: int) -> None:
        """Look at another question that waits."""
        if len(self._waiting) > 1:
            self._at = (self._at + by) % len(self._waiting)
            self.draw()

    def write(self) -> None:
        """Open the line for words."""
        self.add_class("writing")
        self.query_one("#words", Input).focus()

    def close_writing(self) -> bool:
        """Leave the line for words; whether it was open."""
        if not self.writing:
            return False
        self.remove_class("writing")
        self.focus()
        return True

    def on_key(self, event: events.Key) -> None:
        """Keys in the order in which they come. Bindings would act later: what is typed into the line is no answer."""
        writes = event.is_printable or event.key == "enter"
        if self.waiting and not self.ready and event.is_printable:
            self.came_too_soon()
        if not self.writing:
            taken = self.press(event.key)
            if not taken and writes and self.ready:
                self.border_subtitle = NO_ANSWER
        elif event.key == "enter":
            self._take_words()
            taken = True
        elif taken := bool(event.is_printable and event.character):
            # The line has not got the focus yet.
            self.query_one("#words", Input).insert_text_at_cursor(event.character or "")
        if taken:
            event.stop()
            event.prevent_default()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._take_words()

    def _take_words(self) -> None:
        line = self.query_one("#words", Input)
        words, line.value = line.value.strip(), ""
        if self._waiting:
            self.say(words)
