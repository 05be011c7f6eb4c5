"""The two lines round the prompt box: what is going on, and where one is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from pool.facekit.plain import plain
from pool.tui.cutting import cut_strip
from pool_tools.frozen import frozen

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 0.125
GAP = " · "

STOPPING = "stopping"
"""Said from the key on until the run has ended."""

LEAST_DETAIL_CELLS = 12
"""A detail is not made shorter than this: then it is the rest that does not fit."""


BAR_ROLES = (
    *("text", "muted", "accent", "success", "warning", "error"),
    *("mode-plan", "mode-ask", "mode-auto", "mode-unsandboxed"),
)
"""Roles of a theme that words of the status bar may have."""


def fitting(words: list[str], width: int) -> list[str]:
    """The parts of the line, the second shortened if they do not fit: it pushes out neither times nor the hint."""
    over = cell_len(SPINNER[0]) + 1 + sum(cell_len(w) for w in words) + len(GAP) * (len(words) - 1) + 1 - width
    if over <= 0 or len(words) < 2:
        return words
    if cell_len(words[1]) - over < LEAST_DETAIL_CELLS:
        # The time that follows says more than a few letters of the detail.
        return fitting([words[0], *words[2:]], width) if len(words) > 2 else words
    shortened = set_cell_size(words[1], cell_len(words[1]) - over - 1).rstrip() + "…"
    return [words[0], shortened, *words[2:]]


class ActivityLine(Widget):
    """One line that says what the server or a tool is doing, with the time. Blank when idle."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"activity--state", "activity--more", "activity--hint"}

    DEFAULT_CSS = """
    ActivityLine { height: 1; background: $background; color: $muted; padding: 0 1; }
    ActivityLine > .activity--state { color: $accent; }
    ActivityLine > .activity--more { color: $muted; }
    ActivityLine > .activity--hint { color: $muted; text-style: dim; }
    """

    def __init__(self, words: Callable[[], Sequence[str]], hint: Callable[[], tuple[str, bool]]) -> None:
        """words gives the parts of the line; hint what stands at its right end, and whether also where there is no room
        for both. Both are asked for at each frame."""
        super().__init__()
        self._words = words
        self._hint = hint
        self._told = ""
        self._told_end: Timer | None = None
        self._frame = 0

    def on_mount(self) -> None:
        self._timer = self.set_interval(FRAME_SECONDS, self._next_frame, pause=True)

    def run(self, busy: bool) -> None:
        """Turn the wheel or stop it; an idle line costs nothing."""
        if busy:
            self._timer.resume()
        else:
            self._timer.pause()
        self.refresh()

    def tell(self, text: str, seconds: float) -> None:
        """Say something short at the right end for a while; where there is no room for both, instead of the rest."""
        if self._told_end is not None:
            self._told_end.stop()
        self._told = text
        self._told_end = self.set_timer(seconds, self._forget)
        self.refresh()

    def forget(self, text: str) -> None:
        """Say something no longer, if it is still said."""
        if self._told == text and self._told_end is not None:
            self._told_end.stop()
            self._forget()

    def _forget(self) -> None:
        self._told = ""
        self._told_end = None
        self.refresh()

    def _next_frame(self) -> None:
        self._frame += 1
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        base = self.rich_style
        more = self.get_component_rich_style("activity--more")
        hint_words, first = (self._told, True) if self._told else self._hint()
        says = plain(hint_words)
        words = fitting([plain(w) for w in self._words() if w], width - cell_len(says))
        segments: list[Segment] = []
        if words:
            state = self.get_component_rich_style("activity--state")
            segments.append(Segment(f"{SPINNER[self._frame % len(SPINNER)]} {words[0]}", state))
            segments += [Segment(GAP + w, more) for w in words[1:]]
        left = Strip(segments)
        hint_style = self.get_component_rich_style("activity--hint")
        hint = Strip([Segment(says, hint_style)])
        room = width - left.cell_length - hint.cell_length
        if room < 1 and first:
            return cut_strip(hint, width, hint_style)
        if room < 1:
            return left.adjust_cell_length(width, base)
        return Strip.join([left, Strip([Segment(" " * room, base)]), hint])


@frozen
class Part:
    """A word of the status bar: its text, the theme's role for its colour, and what a click on it does."""

    text: str
    role: str = "muted"
    action: str = ""


class StatusBar(Widget):
    """One line: model, mode and sandbox on the left, branch, context and speed on the right. Words can be clicked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"status--{role}" for role in BAR_ROLES}

    DEFAULT_CSS = """
    StatusBar { height: 1; background: $surface; color: $muted; padding: 0 1; }
    StatusBar > .status--text { color: $text; }
    StatusBar > .status--muted { color: $muted; }
    StatusBar > .status--accent { color: $accent; }
    StatusBar > .status--success { color: $success; }
    StatusBar > .status--warning { color: $warning; }
    StatusBar > .status--error { color: $error; }
    StatusBar > .status--mode-plan { color: $mode-plan; text-style: bold; }
    StatusBar > .status--mode-ask { color: $mode-ask; text-style: bold; }
    StatusBar > .status--mode-auto { color: $mode-auto; text-style: bold; }
    StatusBar > .status--mode-unsandboxed { color: $mode-unsandboxed; text-style: bold; }
    """

    class Clicked(Message):
        """A word with an action was clicked."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self._left: Sequence[Part] = ()
        self._right: Sequence[Part] = ()
        self._spans: list[tuple[int, int, str]] = []

    def show_parts(self, left: Sequence[Part], right: Sequence[Part]) -> None:
        """Show these; the right ones give way first where there is little room, the last of them first."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        right = list(self._right)
        left = list(self._left)
        while right and _cells(left) + _cells(right) + 2 > width:
            right.pop()
        while len(left) > 1 and _cells(left) > width:
            left.pop()
        for part in self._right[len(right) :]:  # What gave way may leave room for something shorter.
            if _cells(left) + _cells([*right, part]) + 2 <= width:
                right.append(part)
        spans: list[tuple[int, int, str]] = []
        strip = self._strip(left, 0, spans)
        room = width - strip.cell_length - _cells(right)
        tail = self._strip(right, strip.cell_length + max(0, room), spans)
        self._spans = spans
        if room > 0:
            strip = Strip.join([strip, Strip([Segment(" " * room, self.rich_style)]), tail])
        return strip.adjust_cell_length(width, self.rich_style)

    def _strip(self, parts: Sequence[Part], start: int, spans: list[tuple[int, int, str]]) -> Strip:
        segments: list[Segment] = []
        at = start
        for number, part in enumerate(parts):
            if number:
                segments.append(Segment("  ", self.rich_style))
                at += 2
            segment = Segment(plain(part.text), self.get_component_rich_style(f"status--{part.role}"))
            segments.append(segment)
            if part.action:
                spans.append((at, at + segment.cell_length, part.action))
            at += segment.cell_length
        return Strip(segments)

    def on_click(self, event: events.Click) -> None:
        for start, end, action in self._spans:
            if start <= event.get_content_offset_capture(self).x < end:
                self.post_message(self.Clicked(action))


def _cells(parts: Sequence[Part]) -> int:
    return sum(Segment(plain(p.text)).cell_length for p in parts) + 2 * max(0, len(parts) - 1)
