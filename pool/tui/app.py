"""The Textual app: the conversation, the line that says what goes on, the prompt box and the status bar.

It starts with nothing but these. All else is made when it is first needed, and its code is imported beside the keys
after the first paint. What the app shows of a run comes from events (`Hearing`), what it does to one goes through
`Driver`, what a person asks for is in `Actions`.
"""

from __future__ import annotations

import asyncio
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical

from pool.config.settings import Settings
from pool.facekit.recall import Recall
from pool.tui.base import BEHIND_PANELS, TerminalApp
from pool.tui.diffwidth import DIFF_CELLS
from pool.tui.keys import APP_KEYS, DEFAULTS, Bound, shown
from pool.tui.lines import ActivityLine, StatusBar
from pool.tui.prompt import PromptBox
from pool.tui.rest import load_rest
from pool.tui.times import AGAIN_SECONDS, PASTE_HINT_SECONDS, STATUS_SECONDS, WATCH_SECONDS
from pool.tui.transcript.widget import Transcript
from pool_themes import DEFAULT, Theme

if TYPE_CHECKING:
    from pool.facekit.activity import Activity
    from pool.facekit.agents.descriptions import AgentDescription
    from pool.facekit.agents.driving import AgentDriver
    from pool.facekit.driver import Driver
    from pool.facekit.live.attaching import AttachedDriver
    from pool.facekit.live.place import Attachment
    from pool.tui.actions import Actions
    from pool.tui.approval import ApprovalPanel
    from pool.tui.completing import Completing
    from pool.tui.completion import Completion
    from pool.tui.firststart import FirstStart
    from pool.tui.garbage import Garbage
    from pool.tui.hearing import Hearing
    from pool.tui.leaving import Leaving
    from pool.tui.person import Person
    from pool.tui.question import QuestionPanel
    from pool.tui.queue import QueueList
    from pool.tui.stopping import Stopping
    from pool.tui.todoline import TodoLine
    from pool.tui.transcript.feed import Feed
    from pool.tui.transcript.messages import CopyRequested, PathClicked, TailChanged, UrlClicked
    from pool.tui.typedahead import QuestionKeys


class PoolApp(TerminalApp):
    """`pool`: a conversation in the terminal. Returns the exit code."""

    AUTO_FOCUS = "PromptBox"
    TITLE = "Pool"
    CSS = """
    #_default { background: $background; color: $text; }
    Transcript { height: 1fr; }
    #below { height: auto; max-height: 90%; }
    """

    def __init__(
        self,
        settings: Settings,
        *,
        prompt: str = "",
        theme: str = DEFAULT,
        own_themes: Path | None = None,
        keys: Bound = DEFAULTS,
        typed: bytes = b"",
        attachment: Attachment | AgentDescription | None = None,
        can_leave_behind: bool = False,
        garbage: Garbage | None = None,
    ) -> None:
        """prompt is sent once the session is open; keys are `keys.bound`'s; attachment is a run or an agent to show.

        can_leave_behind: whoever runs the app lets a run go on that `leaving` has left behind. garbage: the app is the
        only one in this process.
        """
        super().__init__(keys, own_themes=own_themes, typed=typed)
        self.settings = settings
        self.recall = Recall(settings.workspace)
        self.transcript = Transcript(reasoning=settings.ui.reasoning, id="transcript")
        self.transcript.diff_cells = DIFF_CELLS[settings.ui.diff]
        self.box = self._make_box(keys)
        self.line = ActivityLine(self._words, self._hint)
        self.bar = StatusBar()
        self.can_leave_behind = can_leave_behind
        self.garbage = garbage
        self.whole = asyncio.Event()
        """All widgets are there."""
        self.has_terminal_focus = True
        self.last_answer = ""
        self.ran = False
        self._first_prompt = prompt
        self._attachment = attachment
        self._folded = True
        self.use_theme(theme)  # here and not later: a change of colours lays out everything anew

    def _make_box(self, keys: Bound) -> PromptBox:
        if not self.settings.ui.vi:
            return PromptBox(self.recall, keys)
        from pool.tui.vibox import ViPromptBox

        return ViPromptBox(self.recall, keys)

    # -- parts that the first paint does without ---------------------------------------------------------------------

    @cached_property
    def activity(self) -> Activity:
        from pool.facekit.activity import Activity

        return Activity()

    @cached_property
    def todo(self) -> TodoLine:
        from pool.tui.todoline import TodoLine

        return TodoLine()

    @cached_property
    def queue(self) -> QueueList:
        from pool.tui.queue import QueueList

        return QueueList()

    @cached_property
    def approval(self) -> ApprovalPanel:
        from pool.tui.approval import ApprovalPanel

        return ApprovalPanel()

    @cached_property
    def questions(self) -> QuestionPanel:
        from pool.tui.question import QuestionPanel

        return QuestionPanel()

    @cached_property
    def completion(self) -> Completion:
        from pool.tui.completion import Completion

        return Completion()

    @cached_property
    def feed(self) -> Feed:
        from pool.tui.transcript.feed import Feed

        feed = Feed(self.transcript)
        feed.on_todo = self.todo.show_items
        return feed

    @cached_property
    def person(self) -> Person:
        from pool.tui.person import Person

        return Person(self.approval, self.questions)

    @cached_property
    def driver(self) -> Driver | AttachedDriver | AgentDriver:
        return self.driver_of(self._attachment)

    @cached_property
    def actions(self) -> Actions:
        from pool.tui.actions import Actions

        return Actions(self)

    @cached_property
    def hearing(self) -> Hearing:
        from pool.tui.hearing import Hearing

        return Hearing(self, self._first_prompt)

    @cached_property
    def completing(self) -> Completing:
        from pool.tui.completing import Completing

        return Completing(self)

    @cached_property
    def stopping(self) -> Stopping:
        from pool.tui.stopping import Stopping

        return Stopping(self)

    @cached_property
    def leaving(self) -> Leaving:
        from pool.tui.leaving import Leaving

        return Leaving(self)

    @cached_property
    def first_start(self) -> FirstStart:
        from pool.tui.firststart import FirstStart

        return FirstStart(self)

    @cached_property
    def question_keys(self) -> QuestionKeys:
        from pool.tui.typedahead import QuestionKeys

        return QuestionKeys(self)

    def driver_of(self, attachment: Attachment | AgentDescription | None) -> Driver | AttachedDriver | AgentDriver:
        """What drives a session here, a live run, or another agent."""
        from pool.facekit.driver import driver_for

        return driver_for(
            *(attachment, self.settings, self.person),
            on_event=lambda event: self.hearing.take(event),
            on_earlier=lambda rows: self.actions.earlier(rows),
            on_open=lambda: self.hearing.opened(),
            on_failed=lambda why, remedy: self.hearing.failed(why, remedy),
        )

    # -- the start ----------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield self.transcript
        with Vertical(id="below"):
            yield self.line
            yield self.box
        yield self.bar

    def on_mount(self) -> None:
        self.watch_own_theme()
        self.leave_on_signals(lambda code: self.leaving.signalled(code))
        self.redraw_when_resumed()
        self.box.focus()
        if draft := self.recall.draft():
            self.box.set_text(draft)
        self.call_after_refresh(self._load_rest)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if event.widget is self.box:
            self.hand_on_early(self.box)

    def theme_used(self, theme: Theme) -> None:
        self.transcript.code_style = theme.code_style

    def theme_failed(self, why: str) -> None:
        self.actions.say_error(why, "the colours stay as they were; mend the file and save it")

    @work(group="start")
    async def _load_rest(self) -> None:
        """After the first paint. What is typed meanwhile is echoed; what it asks for is done as usual."""
        await asyncio.to_thread(load_rest)
        below = self.query_one("#below")
        await below.mount(self.todo, self.queue, self.approval, self.questions, before=self.line)
        await below.mount(self.completion, before=self.box)
        self.whole.set()
        self.begin()
        if self.box.text:
            self.completing.begin()

    def begin(self) -> None:
        """Begin the conversation."""
        self.actions.welcome()
        self.actions.open_session()
        self.show_status()
        self.set_interval(STATUS_SECONDS, self.show_status)
        self.set_interval(WATCH_SECONDS, self.actions.watch_server)

    # -- the two lines ----------------------------------------------------------------------------------------------

    def _words(self) -> list[str]:
        if not self.whole.is_set():
            return []
        if self.driver.opening:
            return self.driver.opening_words(time.monotonic() - self.actions.opening_since)
        if self.actions.shell.running and not self.activity.busy:
            return self.actions.shell.words()
        return self.activity.words(time.monotonic())

    def _hint(self) -> tuple[str, bool]:
        if self.transcript.new_below:
            return "new output below (End)", True
        if self.whole.is_set() and (self.activity.busy or self.actions.shell.running or self.driver.opening):
            key = self.key("interrupt" if self.settings.ui.vi and not self.driver.attached else "stop")
            return f"{key} stops", False
        return "", False

    def key(self, action: str) -> str:
        """The first key of an action, as people write it."""
        return shown(self.keys[action][0])

    def hint(self, text: str, seconds: float = AGAIN_SECONDS) -> None:
        """Say something short at the right of the activity line, for a while."""
        self.line.tell(text, seconds)

    def show_status(self) -> None:
        """Fill the status bar."""
        self.hearing.show_status()

    def on_status_bar_clicked(self, message: StatusBar.Clicked) -> None:
        self.stopping.begin_anew()
        if message.action.startswith("/"):
            self.actions.command(message.action)
        else:
            self.actions.panels.open(message.action)

    # -- the prompt box ---------------------------------------------------------------------------------------------

    def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        self.actions.send(message.text)
        self.question_keys.lead_back()

    def on_prompt_box_queued(self, message: PromptBox.Queued) -> None:
        self.actions.queue(message.text)
        self.question_keys.lead_back()

    def on_prompt_box_edited(self) -> None:
        if self.whole.is_set():
            self.stopping.begin_anew()
            self.completing.begin()

    def on_prompt_box_asked(self, message: PromptBox.Asked) -> None:
        match message.what:
            case "up":
                self.completion.move(-1)
            case "down":
                self.completion.move(1)
            case "accept" | "enter":
                self.completing.accept(entered=message.what == "enter")
            case "complete" if not self.box.text and (self.approval.waiting or self.questions.waiting):
                self.question_keys.lead_on()
            case "complete":
                self.completing.begin(asked=True)
            case "help":
                self.actions.show_help()
            case "end":
                self.transcript.scroll_to_end()
            case "leave":
                self.leave()
            case "take_back":
                self.actions.take_back_last()
            case "editor":
                self.actions.edit_prompt()
            case "picture" | "nothing_pasted":
                from pool.facekit import images

                self.hint(images.REASON if message.what == "picture" else images.EMPTY, PASTE_HINT_SECONDS)
            case _:
                self.actions.search_history()

    def on_completion_picked(self, message: Completion.Picked) -> None:
        self.completing.put(message.offer)
        self.box.focus()

    def on_todo_line_clicked(self) -> None:
        self.action_todo()

    def on_queue_list_clicked(self, message: QueueList.Clicked) -> None:
        self.actions.take_back(message.waiting)

    # -- approvals --------------------------------------------------------------------------------------------------

    def on_answer_panel_raised(self) -> None:
        self.question_keys.lead_to_new()

    def on_answer_panel_settled(self) -> None:
        self.question_keys.lead_on()

    # -- keys -------------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """What means nothing in the conversation begins a prompt: typing and pasting go on in the box."""
        if self.whole.is_set() and self.question_keys.take(event):
            return
        typed = isinstance(event, (events.Key, events.Paste)) and len(self.screen_stack) == 1
        if typed and self.focused is self.transcript:
            key = event if isinstance(event, events.Key) else None
            if key is None or (key.is_printable and key.key not in self.screen.active_bindings):
                self.screen.set_focus(self.box)
        await super().on_event(event)

    async def hand_on(self, event: events.Key) -> None:
        """Give a key that was held to who gets keys."""
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Under a panel only what closes, stops and suspends is left of the app's keys."""
        own = any(k.action.split("(")[0] == action for k in APP_KEYS)
        if own and len(self.screen_stack) > 1:
            return action in BEHIND_PANELS
        return True

    def action_escape(self) -> None:
        self.stopping.escape()

    def action_interrupt(self) -> None:
        self.stopping.interrupt()

    @work(exclusive=True, group="leave")
    async def leave(self, code: int = 0) -> None:
        """Close the session and the app."""
        await self.leaving.leave(code)

    def action_cycle_mode(self) -> None:
        self.actions.cycle_mode()

    def action_fold_all(self) -> None:
        self._folded = not self._folded
        self.transcript.fold_all(self._folded)

    def action_panels(self) -> None:
        self.actions.panels.show_list()

    def action_todo(self) -> None:
        self.actions.panels.open("/todo")

    def action_palette(self) -> None:
        self.actions.panels.show_palette()

    def action_help(self) -> None:
        self.actions.show_help()

    def action_page(self, by: int) -> None:
        self.transcript.action_page(by)

    def action_edge(self, side: int) -> None:
        if side < 0:
            self.transcript.action_begin()
        else:
            self.transcript.scroll_to_end()

    def action_jump(self, by: int) -> None:
        self.transcript.jump(by)

    def action_find(self) -> None:
        self.actions.find()

    def action_copy_answer(self) -> None:
        self.actions.copy_answer()

    def action_free_mouse(self) -> None:
        self.actions.free_mouse()

    def on_tail_changed(self, message: TailChanged) -> None:
        self.line.refresh()

    def on_copy_requested(self, message: CopyRequested) -> None:
        self.actions.copy(message.text)

    def on_path_clicked(self, message: PathClicked) -> None:
        self.actions.open_path(message.path, message.line)

    def on_url_clicked(self, message: UrlClicked) -> None:
        self.open_url(message.url)

    def action_focus_transcript(self) -> None:
        self.screen.set_focus(self.transcript)  # at once: the next key may be there already
