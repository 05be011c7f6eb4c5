"""The Textual app: the conversation, the line that says what goes on, the prompt box and the status bar.

It starts with nothing but these; the agent is imported and the session opened after the first paint. What the app
shows of a run comes from events, what it does to one goes through `Driver`, what a person asks for is in `Actions`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical

from pool.config.interface import Notify
from pool.config.settings import Settings
from pool.events import ApprovalAsked, Event, QuestionAsked, QueueChanged, RunFinished, RunStarted
from pool.facekit import images
from pool.facekit.activity import Activity
from pool.facekit.driver import driver_for
from pool.facekit.recall import Recall
from pool.tui.actions import WATCH_SECONDS, Actions
from pool.tui.approval import ApprovalPanel
from pool.tui.attention import guess, notification, window_title
from pool.tui.base import BEHIND_PANELS, TerminalApp
from pool.tui.completion import Completion, Offer
from pool.tui.diffwidth import DIFF_CELLS
from pool.tui.firststart import FirstStart
from pool.tui.keys import APP_KEYS, DEFAULTS, Bound, shown
from pool.tui.leaving import Leaving
from pool.tui.lines import ActivityLine, StatusBar
from pool.tui.offers import Offers
from pool.tui.person import Person
from pool.tui.prompt import PromptBox
from pool.tui.question import QuestionPanel
from pool.tui.queue import QueueList
from pool.tui.screens.frame import PanelScreen
from pool.tui.status import status_parts
from pool.tui.times import AFTER_STOP_SECONDS, AGAIN_SECONDS, PASTE_HINT_SECONDS, QUESTION_HINT_SECONDS, STATUS_SECONDS
from pool.tui.todoline import TodoLine
from pool.tui.transcript.feed import Feed
from pool.tui.transcript.messages import CopyRequested, PathClicked, TailChanged, UrlClicked
from pool.tui.transcript.reasoning import Show
from pool.tui.transcript.widget import Transcript
from pool.tui.vibox import ViPromptBox
from pool_themes import DEFAULT, Theme

if TYPE_CHECKING:
    from pool.facekit.agents.descriptions import AgentDescription
    from pool.facekit.agents.driving import AgentDriver
    from pool.facekit.driver import Driver
    from pool.facekit.live.attaching import AttachedDriver
    from pool.facekit.live.place import Attachment


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
    ) -> None:
        """prompt is sent once the session is open; keys are `keys.bound`'s; attachment is a run or an agent to show.

        can_leave_behind: whoever runs the app lets a run go on that `leaving` has left behind.
        """
        super().__init__(keys, own_themes=own_themes, typed=typed)
        self.settings = settings
        self.activity = Activity()
        self.recall = Recall(settings.workspace)
        self.transcript = Transcript(reasoning=Show(settings.ui.reasoning.value), id="transcript")
        self.transcript.diff_cells = DIFF_CELLS[settings.ui.diff]
        self.feed = Feed(self.transcript)
        self.todo = TodoLine()
        self.feed.on_todo = self.todo.show_items
        self.approval = ApprovalPanel()
        self.box = (ViPromptBox if settings.ui.vi else PromptBox)(self.recall, keys)
        self.completion = Completion()
        self.queue = QueueList()
        self.line = ActivityLine(self._words, self._hint)
        self.bar = StatusBar()
        self.questions = QuestionPanel()
        self.person = Person(self.approval, self.questions)
        self.can_leave_behind = can_leave_behind
        self.leaving = Leaving(self)
        self.driver = self.driver_of(attachment)
        self.actions = Actions(self)
        self.first_start = FirstStart(self)
        self.offers = Offers(lambda: self.settings.workspace, self.actions.command_offers, self.actions.skill_offers)
        self._first_prompt = prompt
        self._escaped = self._interrupted = self._stopped = 0.0
        self._focused = self._folded = True
        self._status_due = False
        notify = settings.ui.notify
        self._notify_how = guess(dict(os.environ)) if notify is Notify.AUTO else notify.value
        self.last_answer = ""
        self.ran = False
        self.use_theme(theme)  # here and not later: a change of colours lays out everything anew

    def driver_of(self, attachment: Attachment | AgentDescription | None) -> Driver | AttachedDriver | AgentDriver:
        """What drives a session here, a live run, or another agent."""
        return driver_for(
            *(attachment, self.settings, self.person),
            on_event=self._take,
            on_earlier=lambda rows: self.actions.earlier(rows),
            on_open=self._opened,
            on_failed=self._failed,
        )

    def compose(self) -> ComposeResult:
        yield self.transcript
        with Vertical(id="below"):
            yield self.todo
            yield self.queue
            yield self.approval
            yield self.questions
            yield self.line
            yield self.completion
            yield self.box
        yield self.bar

    def on_mount(self) -> None:
        self.watch_own_theme()
        self.leave_on_signals(self.leaving.signalled)
        self.redraw_when_resumed()
        self.box.focus()
        if draft := self.recall.draft():
            self.box.set_text(draft)
        self.call_after_refresh(self._begin)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if event.widget is self.box:
            self.hand_on_early(self.box)

    def theme_used(self, theme: Theme) -> None:
        self.transcript.code_style = theme.code_style

    def theme_failed(self, why: str) -> None:
        self.actions.say_error(why, "the colours stay as they were; mend the file and save it")

    def _begin(self) -> None:
        """After the first paint."""
        self.actions.welcome()
        self.actions.open_session()
        self._show_status()
        self.set_interval(STATUS_SECONDS, self._show_status)
        self.set_interval(WATCH_SECONDS, self.actions.watch_server)
        self.write(window_title(self.settings.workspace, ""))

    # -- what the session says --------------------------------------------------------------------------------------

    def _opened(self) -> None:
        self._show_busy()
        self._show_status()
        if self._first_prompt:
            prompt, self._first_prompt = self._first_prompt, ""
            self.actions.send(prompt)
        self.actions.send_waiting()

    def _failed(self, why: str, remedy: str) -> None:
        self.activity = Activity()
        self._show_busy()
        self._show_status()
        if self.driver.lacks_server:
            self.first_start.show(why)
        else:
            self.actions.say_error(why, remedy)

    def _take(self, event: Event) -> None:
        self.activity.take(event, event.envelope.mono)
        self.feed.show(event)
        self.actions.plans.take(event.body)
        match event.body:
            case RunStarted():
                self.ran = True
                self._show_busy()
                self.write(window_title(self.settings.workspace, "●"))
            case RunFinished():
                self.last_answer = event.body.answer or self.last_answer
                self._show_busy()
                self.write(window_title(self.settings.workspace, ""))
                self._notify("finished: " + event.body.reason.value)
            case ApprovalAsked() | QuestionAsked():
                self._notify("waits for your answer")
            case QueueChanged():
                self.actions.show_queue()
            case _:
                pass
        if not event.body.transient and not self._status_due:
            self._status_due = True
            self.call_later(self._show_status)

    def _show_busy(self) -> None:
        self.actions.show_queue()
        busy = self.activity.busy
        self.line.run(busy)
        self.box.busy = busy

    def _notify(self, text: str) -> None:
        if not self._focused:
            self.write(notification(f"{self.settings.workspace.name}: {text}", self._notify_how))

    def on_app_focus(self) -> None:
        self._focused = True

    def on_app_blur(self) -> None:
        self._focused = False

    # -- the two lines ----------------------------------------------------------------------------------------------

    def _words(self) -> list[str]:
        if self.driver.opening:
            return self.driver.opening_words(time.monotonic() - self.actions.opening_since)
        return self.activity.words(time.monotonic())

    def _hint(self) -> tuple[str, bool]:
        if self.transcript.new_below:
            return "new output below (End)", True
        if self.activity.busy:
            key = self.key("interrupt" if self.settings.ui.vi and not self.driver.attached else "stop")
            return f"{key} stops", False
        return "", False

    def key(self, action: str) -> str:
        """The first key of an action, as people write it."""
        return shown(self.keys[action][0])

    def hint(self, text: str, seconds: float = AGAIN_SECONDS) -> None:
        """Say something short at the right of the activity line, for a while."""
        self.line.tell(text, seconds)

    def _show_status(self) -> None:
        self._status_due = False
        self.bar.show_parts(*status_parts(self.driver, self.activity))

    def on_status_bar_clicked(self, message: StatusBar.Clicked) -> None:
        self._escaped = 0.0
        if message.action.startswith("/"):
            self.actions.command(message.action)
        else:
            self.actions.panels.open(message.action)

    # -- the prompt box ---------------------------------------------------------------------------------------------

    def on_prompt_box_sent(self, message: PromptBox.Sent) -> None:
        self.actions.send(message.text)

    def on_prompt_box_queued(self, message: PromptBox.Queued) -> None:
        self.actions.queue(message.text)

    def on_prompt_box_edited(self) -> None:
        self._escaped = 0.0
        self._complete()

    @work(exclusive=True, group="complete")
    async def _complete(self, asked: bool = False) -> None:
        """Find offers for what is being typed; a newer key makes an older search void."""
        row, column = self.box.cursor_location
        word, _ = self.box.word_at_cursor()
        line = self.box.document.get_line(row)[:column] if row == 0 else ""
        if asked and not word.startswith(("/", "@", "$")):
            found = await self.offers.files(word) if word else ()
        else:
            found = await self.offers.find(line, word)
        if [o.text for o in found] == [word]:
            found = ()
        self.completion.show_offers(found)
        self.box.popup_open = self.completion.open

    def _close_completion(self) -> bool:
        was_open = self.completion.open
        self.workers.cancel_group(self, "complete")  # pyright: ignore[reportUnknownMemberType] Textual leaves the result's type open
        self.completion.show_offers(())
        self.box.popup_open = False
        return was_open

    def on_prompt_box_asked(self, message: PromptBox.Asked) -> None:
        match message.what:
            case "up":
                self.completion.move(-1)
            case "down":
                self.completion.move(1)
            case "accept" | "enter":
                self._accept(entered=message.what == "enter")
            case "complete" if not self.box.text and (self.approval.waiting or self.questions.waiting):
                self._lead_on()
            case "complete":
                self._complete(asked=True)
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
            case "picture":
                self.hint(images.REASON, PASTE_HINT_SECONDS)
            case "nothing_pasted":
                self.hint(images.EMPTY, PASTE_HINT_SECONDS)
            case _:
                self.actions.search_history()

    def on_completion_picked(self, message: Completion.Picked) -> None:
        self._put(message.offer)
        self.box.focus()

    def _accept(self, *, entered: bool) -> None:
        """Take the chosen offer. Enter sends what is typed in full, and a command whose argument is not begun."""
        offer = self.completion.chosen
        if offer is None:
            return
        line = self.box.document.get_line(self.box.cursor_location[0])
        unbegun = entered and line.endswith(" ") and not self.completion.moved
        if offer.line and (line.strip() == offer.text or unbegun):
            self._close_completion()
            self.box.action_send()
        else:
            self._put(offer)

    def _put(self, offer: Offer) -> None:
        end = "" if offer.text.endswith("/") else " "
        if offer.line:
            self.box.replace_line(offer.text + end)
        else:
            self.box.replace_word(offer.text + end)
        self._close_completion()
        self._complete()

    def on_todo_line_clicked(self) -> None:
        self.action_todo()

    def on_queue_list_clicked(self, message: QueueList.Clicked) -> None:
        self.actions.take_back(message.waiting)

    # -- approvals --------------------------------------------------------------------------------------------------

    def on_answer_panel_raised(self) -> None:
        self._lead_to(self.approval if self.approval.waiting else self.questions)

    def _lead_to(self, panel: ApprovalPanel | QuestionPanel) -> None:
        """Give a panel the keys, unless the user is writing."""
        if not self.box.text and len(self.screen_stack) == 1:
            panel.focus()
        else:
            self.hint("a question waits: empty the box or click on it", QUESTION_HINT_SECONDS)

    def _lead_on(self) -> None:
        """To what still waits for an answer, else back to the box."""
        if self.approval.waiting:
            self.approval.focus()
        elif self.questions.waiting:
            self.questions.focus()
        else:
            self.box.focus()

    def on_answer_panel_settled(self) -> None:
        self._lead_on()

    # -- keys -------------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """What means nothing in the conversation begins a prompt: typing and pasting go on in the box."""
        typed = isinstance(event, (events.Key, events.Paste)) and len(self.screen_stack) == 1
        if typed and self.focused is self.transcript:
            key = event if isinstance(event, events.Key) else None
            if key is None or (key.is_printable and key.key not in self.screen.active_bindings):
                self.screen.set_focus(self.box)
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Under a panel only what closes, stops and suspends is left of the app's keys."""
        own = any(k.action.split("(")[0] == action for k in APP_KEYS)
        if own and len(self.screen_stack) > 1:
            return action in BEHIND_PANELS
        return True

    def action_escape(self) -> None:
        """Close what is open; else stop the run; else, twice with nothing typed, rewind."""
        now = time.monotonic()
        if len(self.screen_stack) > 1:
            self._escaped = 0.0
            if not (isinstance(self.screen, PanelScreen) and self.screen.escaped()):
                self.screen.dismiss(None)
        elif self._close_completion() or self.approval.close_writing() or self.questions.close_writing():
            return
        elif self.focused is self.box and self.box.escaped():
            self._escaped = 0.0
        elif self.activity.busy or self.actions.in_shell:
            self._stopped = now
            self.actions.stop()
        elif self.focused is not self.box:
            self.box.focus()
        elif self.box.text or now - self._stopped < AFTER_STOP_SECONDS:
            self._escaped = 0.0
        elif now - self._escaped < AGAIN_SECONDS:
            self._escaped = 0.0
            self.actions.command("/undo")
        else:
            self._escaped = now
            self.hint(f"{self.key('stop')} again goes back to an earlier prompt")

    def action_interrupt(self) -> None:
        """Copy a selection; stop the run, if it works here; empty the box; else, twice, leave."""
        now = time.monotonic()
        if text := self.transcript.selected_text or self.box.selected_text:
            self.actions.copy(text)
        elif (self.activity.busy and not self.driver.attached) or self.actions.in_shell:
            self._stopped = now
            self.actions.stop()
        elif self.box.text:
            self.recall.add(self.box.full_text)
            self.box.take()
            self.hint(f"cleared; {self.key('history_back')} brings it back")
        elif now - self._interrupted < AGAIN_SECONDS:
            self.leave()
        else:
            self._interrupted = now
            self.hint(f"{self.key('interrupt')} again leaves")

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
        self.transcript.focus()
