"""The prompt box: several lines, large pastes as marks, history, and completion for what begins with / or @."""

from __future__ import annotations

import time
from collections import deque

from rich.cells import cell_len
from textual import events
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from pool.facekit.pastes import Pastes, normal_lines
from pool.facekit.recall import Recall
from pool.tui.inorder import Area
from pool.tui.keys import DEFAULTS, PROMPT_KEYS, Bound

BURST_KEYS = 3
BURST_SECONDS = 0.02
"""A line end that comes within so little time of so many keys may belong to a paste that the terminal did not mark."""

IDLE_WORDS = "What is to be done?   / commands   @ files   ! shell   ? help"
BUSY_WORDS = "Enter: say it to the running turn   Tab: after this run   Esc: stop"
QUEUE_WORDS = "Enter: after this turn   Esc: stop"
"""For an agent that nothing can be said to while it works."""

NARROW = {
    IDLE_WORDS: "/ commands  @ files  ! shell  ? help",
    BUSY_WORDS: "Enter: say it  Tab: later  Esc: stop",
}
"""The same for a box that is too narrow for all of it."""

JOINERS = frozenset("\u200c\u200d")
"""Characters that Python calls unprintable and that belong to writing: Persian's non-joiner, and what joins emoji."""

SETTLE_SECONDS = 0.05
"""If nothing follows such a line end for so long, it was meant to send."""


class PromptBox(Area):
    """Where the user writes. What is done with it is the app's: the box sends messages.

    Its keys are no bindings: those would act before what was typed just before them.
    """

    DEFAULT_CSS = """
    PromptBox {
        height: auto;
        max-height: 12;
        border: round $border;
        background: $background;
        padding: 0 1;
    }
    PromptBox:focus { border: round $border-focused; background: $background; }
    PromptBox.shell { border: round $mode-ask; }
    PromptBox .text-area--placeholder { color: $muted; }
    PromptBox .text-area--cursor-line { background: $background; }
    PromptBox .text-area--cursor, PromptBox:light .text-area--cursor, PromptBox:ansi .text-area--cursor {
        color: $input-cursor-foreground; background: $input-cursor-background; text-style: none;
    }
    """

    class Sent(Message):
        """Enter: the whole text, pastes unfolded."""

        def __init__(self, text: str, shown: str) -> None:
            self.text = text
            self.shown = shown
            super().__init__()

    class Queued(Message):
        """Tab while it works: the same for after the run."""

        def __init__(self, text: str, shown: str) -> None:
            self.text = text
            self.shown = shown
            super().__init__()

    class Edited(Message):
        """The text or the place in it changed: the completion may have to follow."""

    class Asked(Message):
        """A key that the app acts on.

        what is `editor`, `search`, `complete`, `help`, `leave`, `end` or `take_back`; while the completion is open
        `up`, `down`, `accept` (Tab) or `enter`; after a paste `picture` or `nothing_pasted`.
        """

        def __init__(self, what: str) -> None:
            self.what = what
            super().__init__()

    def __init__(self, recall: Recall, keys: Bound = DEFAULTS) -> None:
        super().__init__("", soft_wrap=True, show_line_numbers=False, tab_behavior="focus", highlight_cursor_line=False)
        self.recall = recall
        self.placeholder = self._suggested = IDLE_WORDS
        # A blinking cursor would be most of what an idle interface costs.
        self.cursor_blink = False
        self.pastes = Pastes()
        self.popup_open = False
        self.has_waiting = False
        """Whether a prompt waits that Up in the empty box takes back."""
        self.steers = True
        """Whether what is sent while a run works is said to it; else it waits for the end."""
        self._busy = False
        self._typed: deque[float] = deque(maxlen=BURST_KEYS)
        self._held_end: Timer | None = None
        self._actions = {k: key.action for key in PROMPT_KEYS for k in keys[key.id]}
        self.bound_keys = frozenset(self._actions)

    @property
    def busy(self) -> bool:
        """Whether a run works: then Enter steers and Tab queues."""
        return self._busy

    @busy.setter
    def busy(self, busy: bool) -> None:
        self._busy = busy
        busy_words = BUSY_WORDS if self.steers else QUEUE_WORDS
        self._suggest(busy_words if busy else IDLE_WORDS)

    def _suggest(self, words: str) -> None:
        """Say in the empty box what can be done there."""
        self._suggested = words
        narrow = 0 < self.content_size.width < cell_len(words)
        self.placeholder = NARROW.get(words, words) if narrow else words

    def on_resize(self) -> None:
        self._suggest(self._suggested)

    @property
    def full_text(self) -> str:
        """What the box means: pastes unfolded."""
        return self.pastes.unfold(self.text)

    def set_text(self, text: str) -> None:
        """Put a text in the box, the cursor at its end. It can be undone."""
        self.replace(text, (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def escaped(self) -> bool:
        """Take Esc; False where it means nothing in the box."""
        return False

    def take(self) -> tuple[str, str]:
        """Empty the box; the text it meant and the text it showed."""
        full, shown = self.full_text, self.text
        self.load_text("")
        self.pastes.clear()
        return full, shown

    def word_at_cursor(self) -> tuple[str, int]:
        """The word that ends at the cursor, and the column where it begins."""
        row, column = self.cursor_location
        line = self.document.get_line(row)[:column]
        start = max(line.rfind(" "), line.rfind("\t")) + 1
        return line[start:], start

    def replace_word(self, text: str) -> None:
        """Put text in the place of the word that ends at the cursor."""
        row, column = self.cursor_location
        _, start = self.word_at_cursor()
        self.replace(text, (row, start), (row, column))
        self.move_cursor((row, start + len(text)))

    def replace_line(self, text: str) -> None:
        """Put text in the place of the line up to the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, 0), (row, column))
        self.move_cursor((row, len(text)))

    async def _on_key(self, event: events.Key) -> None:
        if self._release_end():
            self.insert("\n")
        if action := self._actions.get(event.key):
            event.stop()
            event.prevent_default()
            getattr(self, f"action_{action}")()
            return
        if event.key == "backspace" and self._take_out_mark():
            event.stop()
            event.prevent_default()
            return
        if event.is_printable:
            self._typed.append(time.monotonic())
        if event.character in JOINERS:
            event.stop()
            event.prevent_default()
            self.insert(event.character)
            return
        if event.character == "?" and not self.text and not self.popup_open:
            event.stop()
            event.prevent_default()
            self.post_message(self.Asked("help"))
            return
        await super()._on_key(event)

    def _take_out_mark(self) -> bool:
        """Take out the mark of a paste before the cursor, whole: what is left of one would mean nothing."""
        row, column = self.cursor_location
        length = self.pastes.mark_before(self.document.get_line(row)[:column])
        if not length or not self.selection.is_empty:
            return False
        self.delete((row, column - length), (row, column))
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        from pool.facekit.images import pasted_picture

        event.stop()
        event.prevent_default()
        if not event.text:
            self.post_message(self.Asked("nothing_pasted"))
        elif pasted_picture(event.text):
            self.post_message(self.Asked("picture"))
        if result := self._replace_via_keyboard(self.pastes.fold(event.text), *self.selection):
            self.move_cursor(result.end_location)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.set_class(self.text.startswith("!"), "shell")
        self.post_message(self.Edited())

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self.popup_open:
            self.post_message(self.Edited())

    def _in_burst(self) -> bool:
        """Whether keys come faster than hands: a paste without marks."""
        full = len(self._typed) == BURST_KEYS
        return full and time.monotonic() - self._typed[0] < BURST_SECONDS

    def _release_end(self) -> bool:
        """Stop waiting for what follows a line end; whether one was held."""
        held, self._held_end = self._held_end, None
        if held is not None:
            held.stop()
        return held is not None

    def _send_held(self) -> None:
        if self._release_end():
            self._send()

    def action_send(self) -> None:
        """Send; in a burst of keys only when nothing follows."""
        if self._in_burst():
            self._held_end = self.set_timer(SETTLE_SECONDS, self._send_held)
        else:
            self._send()

    def _send(self) -> None:
        """Send, unless the line is to go on or a completion is to be taken."""
        if self.popup_open:
            self.post_message(self.Asked("enter"))
            return
        row, column = self.cursor_location
        if self.document.get_line(row)[:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            return
        if self.text.strip():
            # Emptied here and not by who gets the message: what is typed next must stay.
            self.post_message(self.Sent(*self.take()))

    def action_newline(self) -> None:
        self.insert("\n")

    def action_complete_or_queue(self) -> None:
        """Tab: the completion, else the queue while it works, else a completion for the word at the cursor."""
        if self.popup_open:
            self.post_message(self.Asked("accept"))
        elif self.busy and self.text.strip():
            self.post_message(self.Queued(*self.take()))
        else:
            self.post_message(self.Asked("complete"))

    def action_up(self) -> None:
        if self.popup_open:
            self.post_message(self.Asked("up"))
        elif not self.cursor_at_first_line:
            self.action_cursor_up()
        elif not self.text and self.has_waiting:
            self.post_message(self.Asked("take_back"))
        elif (text := self.recall.back(self.text)) is not None:
            self.set_text(text)

    def action_down(self) -> None:
        if self.popup_open:
            self.post_message(self.Asked("down"))
        elif not self.cursor_at_last_line:
            self.action_cursor_down()
        elif (text := self.recall.forward()) is not None:
            self.set_text(text)

    def action_history_search(self) -> None:
        self.post_message(self.Asked("search"))

    def action_editor(self) -> None:
        self.post_message(self.Asked("editor"))

    def action_leave_if_empty(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.Asked("leave"))

    def action_end(self) -> None:
        if self.text:
            self.action_cursor_line_end()
        else:
            self.post_message(self.Asked("end"))

    def paste_text(self, text: str) -> None:
        """Insert a text as if pasted, unfolded."""
        self.insert(normal_lines(text))
