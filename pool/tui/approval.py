"""The approval panel: what exactly would run, what the sandbox allows it, and the answers, one key each.

A key that was on its way when the question came must not answer it: for `SETTLE_SECONDS` no key counts, and the panel
takes the focus only from an empty prompt box.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from pool.facekit.approving import BY_PERSON, LOW_ROWS, SETTLE_SECONDS, SHORT_WORDS, choices
from pool.facekit.plain import plain
from pool.ports import ApprovalAnswer, ApprovalRequest

LOW_OTHER_ROWS = 8
"""Rows of a low window that are not the preview's: border, title, answers, activity, box, status."""

OTHER_ROWS = 11
"""The same of a high one, and two rows of the conversation."""

MOST_PREVIEW_LINES = 400
MOST_PREVIEW_COLUMNS = 2000


@dataclass(slots=True)
class Pending:
    """A question that waits, and where its answer goes."""

    request: ApprovalRequest
    answer: asyncio.Future[ApprovalAnswer]


class ApprovalPanel(Widget, can_focus=True):
    """Shows the first of the questions that wait; hidden when there is none."""

    DEFAULT_CSS = """
    ApprovalPanel {
        height: auto; display: none; border: round $mode-ask; padding: 0 1;
        background: $background; margin: 0 0;
    }
    ApprovalPanel.open { display: block; }
    ApprovalPanel:focus-within, ApprovalPanel:focus { border: round $border-focused; }
    ApprovalPanel > #title { height: auto; color: $text; text-style: bold; }
    ApprovalPanel > #why { height: auto; color: $muted; }
    ApprovalPanel > #scroll { height: auto; max-height: 14; background: $surface; margin: 0 0; }
    ApprovalPanel > #choices { height: auto; color: $text; }
    ApprovalPanel > #reason, ApprovalPanel > #reason:focus { border: none; }
    ApprovalPanel > #reason { display: none; height: 1; background: $panel; padding: 0; }
    ApprovalPanel.asking > #reason { display: block; }
    """

    class Settled(Message):
        """No question waits any more."""

    class Raised(Message):
        """A question came up."""

    def __init__(self) -> None:
        super().__init__()
        self._pending: list[Pending] = []
        self._at = 0
        self._since = 0.0

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Static("", id="why", markup=False)
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static("", id="preview", markup=False)
        yield Static("", id="choices", markup=False)
        yield Input(id="reason", placeholder="why not? (Enter sends it to the model, Esc goes back)")

    @property
    def waiting(self) -> int:
        return len(self._pending)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Put a question to the person; returns when it is answered. Cancelled, it leaves no trace."""
        pending = Pending(request, asyncio.get_running_loop().create_future())
        self._pending.append(pending)
        if len(self._pending) == 1:
            self._since = time.monotonic()
        self._show()
        self.post_message(self.Raised())
        try:
            return await pending.answer
        finally:
            self._pending.remove(pending)
            self._at = 0
            self._since = time.monotonic()
            self._show()
            if not self._pending:
                self.post_message(self.Settled())

    def _show(self) -> None:
        self.set_class(bool(self._pending), "open")
        self.remove_class("asking")
        if not self._pending:
            return
        self._at %= len(self._pending)
        request = self._pending[self._at].request
        count = f" ({self._at + 1} of {len(self._pending)}, Tab for the next)" if len(self._pending) > 1 else ""
        self.query_one("#title", Static).update(Text(f"{plain(request.name)}: may it run?{count}"))
        why = "\n".join(plain(words) for words in (request.why, request.policy) if words)
        self.query_one("#why", Static).update(Text(why))
        self.query_one("#preview", Static).update(self._preview(request))
        self.query_one("#choices", Static).update(self._choices(request))
        self.query_one("#why").display = not self._is_low
        scroll = self.query_one("#scroll", VerticalScroll)
        scroll.styles.max_height = self._preview_rows(why)
        scroll.scroll_home(animate=False)

    @property
    def _is_low(self) -> bool:
        """Whether the window has too few rows for a row for each answer."""
        return self.screen.size.height < LOW_ROWS

    def _preview_rows(self, why: str) -> int:
        """Rows that are left for what would run: title and answers are never pushed out."""
        width = max(1, self.screen.size.width - 4)
        if self._is_low:
            return max(1, self.screen.size.height - LOW_OTHER_ROWS)
        reasons = sum(1 + cell_len(line) // width for line in why.split("\n"))
        answers = self._choices(self._pending[self._at].request).plain.count("\n") + 1
        return max(2, self.screen.size.height - OTHER_ROWS - reasons - answers)

    def on_resize(self) -> None:
        if self._pending and not self.has_class("asking"):
            self._show()

    def _preview(self, request: ApprovalRequest) -> Text:
        variables = _variables(self)
        text = Text(no_wrap=request.preview_kind == "diff")
        lines = request.preview.split("\n")
        for number, line in enumerate(lines[:MOST_PREVIEW_LINES]):
            shown = ("\n" if number else "") + plain(line.replace("\t", "    "))[:MOST_PREVIEW_COLUMNS]
            text.append(shown, style=_line_style(line, request.preview_kind, variables))
        if len(lines) > MOST_PREVIEW_LINES:
            text.append(f"\n… {len(lines) - MOST_PREVIEW_LINES:,} more lines")
        return text

    def _choices(self, request: ApprovalRequest) -> Text:
        accent = _variables(self).get("accent", "")
        text = Text()
        if self._is_low:
            return Text("  ".join(SHORT_WORDS[key] for key in [*(c.key for c in choices(request)), "n", "r"]))
        rows = [(c.key, c.words) for c in choices(request)] + [("n", "no"), ("r", "no, and say why")]
        for number, (key, words) in enumerate(rows):
            text.append("\n" if number else "")
            text.append(f" {key} ", style=f"bold {accent}".strip())
            text.append(plain(words))
        return text

    @property
    def _too_soon(self) -> bool:
        return time.monotonic() - self._since < SETTLE_SECONDS

    def say_yes(self, key: str) -> None:
        """Say yes, as far as the key reaches."""
        if not self._pending or self._too_soon:
            return
        for choice in choices(self._pending[self._at].request):
            if choice.key == key:
                self._settle(ApprovalAnswer(True, BY_PERSON, remember=choice.remember))

    def say_no(self) -> None:
        """Say no."""
        if self._pending and not self._too_soon:
            self._settle(ApprovalAnswer(False, BY_PERSON))

    def ask_reason(self) -> None:
        """Say no and why: the words reach the model."""
        if self._pending and not self._too_soon:
            self.add_class("asking")
            self.query_one("#reason", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._take_reason()

    def _take_reason(self) -> None:
        line = self.query_one("#reason", Input)
        reason, line.value = line.value.strip(), ""
        self.focus()
        if self._pending:
            self._settle(ApprovalAnswer(False, BY_PERSON, reason=reason))

    def close_reason(self) -> bool:
        """Leave the line for the reason; whether it was open."""
        if not self.has_class("asking"):
            return False
        self.remove_class("asking")
        self.focus()
        return True

    def _turn(self, by: int) -> None:
        """Look at another question that waits."""
        if len(self._pending) > 1:
            self._at = (self._at + by) % len(self._pending)
            self._show()

    def on_key(self, event: events.Key) -> None:
        """Keys in the order in which they come. Bindings would act later: what is typed after R must be no answer."""
        if self.has_class("asking"):
            self._type(event)
            return
        match event.key:
            case "y" | "e" | "s" | "a" as key:
                self.say_yes(key)
            case "n":
                self.say_no()
            case "r":
                self.ask_reason()
            case "right" | "tab":
                self._turn(1)
            case "left":
                self._turn(-1)
            case "up" | "down" as key:
                self.query_one("#scroll", VerticalScroll).scroll_relative(y=1 if key == "down" else -1, animate=False)
            case _:
                return
        event.stop()
        event.prevent_default()

    def _type(self, event: events.Key) -> None:
        """What is typed before the line for the reason has the focus belongs into it."""
        if event.key == "enter":
            event.stop()
            self._take_reason()
        elif event.is_printable and event.character:
            event.stop()
            self.query_one("#reason", Input).insert_text_at_cursor(event.character)

    def on_click(self, event: events.Click) -> None:
        """A click on a choice takes it."""
        rows = self.query_one("#choices", Static)
        if not self._pending or not rows.region.contains(event.screen_x, event.screen_y):
            self.focus()
            return
        request = self._pending[self._at].request
        row = event.screen_y - rows.region.y
        keys: Sequence[str] = [c.key for c in choices(request)] + ["n", "r"]
        if row < len(keys):
            match keys[row]:
                case "n":
                    self.say_no()
                case "r":
                    self.ask_reason()
                case key:
                    self.say_yes(key)

    def _settle(self, answer: ApprovalAnswer) -> None:
        pending = self._pending[self._at]
        if not pending.answer.done():
            pending.answer.set_result(answer)


def _variables(widget: Widget) -> dict[str, str]:
    """The colours of the theme by role."""
    return widget.app.theme_variables  # pyright: ignore[reportUnknownMemberType] Textual leaves the app's type open


def _line_style(line: str, kind: str, variables: dict[str, str]) -> str:
    if kind != "diff":
        return ""
    if line.startswith("+") and not line.startswith("+++"):
        return f"{variables['added']} on {variables['added-background']}"
    if line.startswith("-") and not line.startswith("---"):
        return f"{variables['removed']} on {variables['removed-background']}"
    return variables["muted"] if line.startswith("@@") else ""
