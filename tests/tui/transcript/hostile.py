"""A program to run in a terminal: a transcript of text that tries to drive the terminal. Ends on `q`."""

from __future__ import annotations

from pool.tui.transcript.answer import Answer
from pool.tui.transcript.card import CallFacts, CallState, ToolCard
from pool.tui.transcript.notice import ErrorCard, Quiet
from pool.tui.transcript.prompt import Prompt
from pool.tui.transcript.reasoning import Reasoning
from tests.tui.transcript.harness import TranscriptApp

TEXT = (
    "A\x1b]52;c;aGFja2Vk\x07B\x1b]0;owned\x07C\x1b[2J\x1b[6nD\x9b31mE\x1b]8;;http://evil\x1b\\F \u202eG "
    "[red]H[/red] \x1b]unended"
)


class Hostile(TranscriptApp):
    BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012

    def on_mount(self) -> None:
        super().on_mount()
        view = self.transcript
        view.add(Prompt(TEXT))
        view.add(Answer(f"{TEXT}\n\n```\n{TEXT}\n```", done=True))
        view.add(Reasoning(TEXT, done=True)).block.fold(0, False)
        view.add(Quiet(TEXT, TEXT))
        view.add(ErrorCard(TEXT, TEXT, TEXT))
        view.add(ToolCard(CallFacts(TEXT, CallState.OK, TEXT, "text", result=TEXT), folded=False))
        view.add(Quiet("everything shown"))


if __name__ == "__main__":
    Hostile().run()
