"""The panel for a question of the model's: its choices by number, or words of one's own."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from pool.facekit.approving import SETTLE_SECONDS
from pool.facekit.plain import plain
from pool.ports import Answer, Question


@dataclass(slots=True)
class Asked:
    """A question that waits, and where its answer goes."""

    question: Question
    answer: asyncio.Future[Answer | None]


class QuestionPanel(Widget, can_focus=True):
    """Shows the first of the questions that wait; hidden when there is none."""

    DEFAULT_CSS = """
    QuestionPanel {
        height: auto; max-height: 60%; display: none; border: round $mode-ask; padding: 0 1; background: $background;
    }
    QuestionPanel.open { display: block; }
    QuestionPanel:focus-within, QuestionPanel:focus { border: round $border-focused; }
    QuestionPanel > #text { height: auto; color: $text; text-style: bold; }
    QuestionPanel > #offers { height: auto; color: $text; }
    QuestionPanel > #own, QuestionPanel > #own:focus { border: none; }
    QuestionPanel > #own { display: none; height: 1; background: $panel; padding: 0; }
    QuestionPanel.writing > #own { display: block; }
    """

    class Settled(Message):
        """No question waits any more."""

    class Raised(Message):
        """A question came up."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[Asked] = []
        self._since = 0.0

    def compose(self) -> ComposeResult:
        yield Static("", id="text", markup=False)
        yield Static("", id="offers", markup=False)
        yield Input(id="own", placeholder="your answer (Enter sends it, Esc goes back)")

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def ask(self, question: Question) -> Answer | None:
        """Put a question to the person; None if it is declined. Cancelled, it leaves no trace."""
        asked = Asked(question, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        self._show()
        self.post_message(self.Raised())
        try:
            return await asked.answer
        finally:
            self._waiting.remove(asked)
            self._show()
            if not self._waiting:
                self.post_message(self.Settled())

    def _show(self) -> None:
        self.set_class(bool(self._waiting), "open")
        self.remove_class("writing")
        self._since = time.monotonic()
        if not self._waiting:
            return
        question = self._waiting[0].question
        self.query_one("#text", Static).update(Text("\n".join(plain(line) for line in question.text.split("\n"))))
        text = Text()
        for number, (key, words) in enumerate(self._rows(question)):
            text.append("\n" if number else "")
            text.append(f" {key} ", style="bold")
            text.append(plain(words))
        self.query_one("#offers", Static).update(text)

    def _rows(self, question: Question) -> list[tuple[str, str]]:
        rows = [(str(n), c) for n, c in enumerate(question.choices[:9], 1)]
        if question.free_text or not question.choices:
            rows.append(("0", "another answer, in your own words"))
        return [*rows, ("d", "give no answer")]

    @property
    def _ready(self) -> bool:
        return bool(self._waiting) and time.monotonic() - self._since >= SETTLE_SECONDS

    def choose(self, number: int) -> None:
        """Take a choice by its number."""
        if self._ready and number <= len(choices := self._waiting[0].question.choices):
            self._settle(Answer(choices[number - 1]))

    def write_own(self) -> None:
        """Write an answer."""
        if self._ready and ("0", "another answer, in your own words") in self._rows(self._waiting[0].question):
            self.add_class("writing")
            self.query_one("#own", Input).focus()

    def decline(self) -> None:
        """Give no answer."""
        if self._ready:
            self._settle(None)

    def close_writing(self) -> bool:
        """Leave the line for one's own words; whether it was open."""
        if not self.has_class("writing"):
            return False
        self.remove_class("writing")
        self.focus()
        return True

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._take_words()

    def _take_words(self) -> None:
        line = self.query_one("#own", Input)
        text, line.value = line.value.strip(), ""
        if text and self._waiting:
            self._settle(Answer(text))

    def on_key(self, event: events.Key) -> None:
        """Keys in the order in which they come. Bindings would act later: what is typed after 0 must be no choice."""
        if self.has_class("writing"):
            self._type(event)
            return
        match event.key:
            case "0":
                self.write_own()
            case "d":
                self.decline()
            case key if key.isdecimal() and len(key) == 1:
                self.choose(int(key))
            case _:
                return
        event.stop()
        event.prevent_default()

    def _type(self, event: events.Key) -> None:
        """What is typed before the line for words has the focus belongs into it."""
        if event.key == "enter":
            event.stop()
            self._take_words()
        elif event.is_printable and event.character:
            event.stop()
            self.query_one("#own", Input).insert_text_at_cursor(event.character)

    def on_click(self, event: events.Click) -> None:
        rows = self.query_one("#offers", Static)
        if not self._waiting or not rows.region.contains(event.screen_x, event.screen_y):
            self.focus()
            return
        key = self._rows(self._waiting[0].question)[event.screen_y - rows.region.y][0]
        match key:
            case "0":
                self.write_own()
            case "d":
                self.decline()
            case _:
                self.choose(int(key))

    def _settle(self, answer: Answer | None) -> None:
        future = self._waiting[0].answer
        if not future.done():
            future.set_result(answer)
