"""The panel for a question of the model's: its choices by number, or words of one's own."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.widgets import Static

from pool.facekit.plain import plain
from pool.ports import Answer, Question
from pool.tui.answerpanel import AnswerPanel, WordsLine

MOST_CHOICES = 9
"""Choices that have a digit each; 0 is for one's own words."""


class QuestionPanel(AnswerPanel[Question, "Answer | None"]):
    """Answers by digit, in own words, or none."""

    DEFAULT_CSS = """
    QuestionPanel { max-height: 60vh; }
    QuestionPanel > #text { height: auto; color: $text; text-style: bold; }
    QuestionPanel > #offers { height: auto; color: $text; }
    """

    def compose(self) -> ComposeResult:
        yield Static("", id="text", markup=False)
        yield Static("", id="offers", markup=False)
        yield WordsLine("your answer (Enter sends it, Esc goes back)")

    def draw(self) -> None:
        self.query_one("#text", Static).update(Text("\n".join(plain(line) for line in self.shown.text.split("\n"))))
        text = Text()
        for number, (key, words) in enumerate(self._rows()):
            text.append("\n" if number else "")
            text.append(f" {key} ", style="bold")
            text.append(plain(words))
        self.query_one("#offers", Static).update(text)

    @property
    def _takes_words(self) -> bool:
        return self.shown.free_text or not self.shown.choices

    def _rows(self) -> list[tuple[str, str]]:
        rows = [(str(n), c) for n, c in enumerate(self.shown.choices[:MOST_CHOICES], 1)]
        if self._takes_words:
            rows.append(("0", "another answer, in your own words"))
        return [*rows, ("d", "give no answer")]

    def press(self, key: str) -> bool:
        if not self.ready or key not in (known for known, _ in self._rows()):
            return False
        match key:
            case "0":
                self.write()
            case "d":
                self.settle(None)
            case _:
                self.settle(Answer(self.shown.choices[int(key) - 1]))
        return True

    def open_words(self, key: str) -> bool:
        if opens := key == "0" and self._takes_words and self.ready:
            self.write()
        return opens

    def say(self, words: str) -> None:
        if words:
            self.settle(Answer(words))

    def on_click(self, event: events.Click) -> None:
        """A click on a row takes it."""
        offers = self.query_one("#offers", Static)
        if self.waiting and offers.region.contains(event.screen_x, event.screen_y):
            rows = self._rows()
            place = event.screen_y - offers.region.y
            if place < len(rows):
                self.press(rows[place][0])
        elif not self.writing:
            self.focus()
