"""What a session says, on the screen: its events, that it is open or cannot be, and what the status bar makes of it."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from pool.config.interface import Notify
from pool.events import (
    ApprovalAsked,
    Event,
    QuestionAsked,
    QueueChanged,
    RunFinished,
    RunStarted,
    StopReason,
    Waiting,
)
from pool.facekit.activity import Activity
from pool.tui.attention import clean, guess, notification, through_tmux, window_title
from pool.tui.garbage import AFTER_RUN_SECONDS
from pool.tui.lines import STOPPING
from pool.tui.rest import load_for_answers
from pool.tui.status import status_parts

if TYPE_CHECKING:
    from pool.tui.app import PoolApp

RETRY_WORDS = "/retry goes on where it stopped"


class Hearing:
    """What the driver tells goes through here. Used on the app's loop."""

    def __init__(self, app: PoolApp, first_prompt: str) -> None:
        """first_prompt is sent once a session is open."""
        self._app = app
        self._first_prompt = first_prompt
        self._status_due = False
        notify = app.settings.ui.notify
        self._notify_how = guess(dict(os.environ)) if notify is Notify.AUTO else notify.value

    def opened(self) -> None:
        """A session is open: what waited for it is sent."""
        # An earlier session is shown first.
        self._app.call_after_refresh(lambda: self._app.actions.spawn(self._get_ready()))
        self.show_busy()
        self._app.show_status()
        if self._first_prompt:
            prompt, self._first_prompt = self._first_prompt, ""
            self._app.actions.send(prompt)
        self._app.actions.send_waiting()

    async def _get_ready(self) -> None:
        await asyncio.to_thread(load_for_answers)
        if self._app.garbage is not None:
            self._app.garbage.opened_session()

    def failed(self, why: str, remedy: str) -> None:
        """No session could be opened."""
        app = self._app
        if app.garbage is not None:
            app.garbage.opened_session()
        app.activity = Activity()
        self.show_busy()
        app.show_status()
        if app.driver.lacks_server:
            app.first_start.show(why)
        else:
            app.actions.say_error(why, remedy)

    def take(self, event: Event) -> None:
        """Show an event."""
        app = self._app
        app.activity.take(event, event.envelope.mono)
        app.feed.show(event)
        app.actions.plans.take(event.body)
        match event.body:
            case RunStarted():
                app.ran = True
                self.show_busy()
                app.write(window_title(app.settings.workspace, "●"))
            case RunFinished():
                app.last_answer = event.body.answer or app.last_answer
                self.show_busy()
                app.line.forget(STOPPING)
                app.write(window_title(app.settings.workspace, ""))
                self._notify("finished: " + event.body.reason.value)
                if event.body.reason is StopReason.SERVER_FAILED and app.driver.conversation is not None:
                    app.actions.say(RETRY_WORDS)
                if app.garbage is not None:
                    app.set_timer(AFTER_RUN_SECONDS, app.garbage.ran)
            case ApprovalAsked() | QuestionAsked():
                self._notify("waits for your answer")
            case Waiting() if app.box.busy is not app.activity.busy:
                # Beside runs: a review, a compaction.
                self.show_busy()
            case QueueChanged():
                app.actions.show_queue()
            case _:
                pass
        if not event.body.transient and not self._status_due:
            self._status_due = True
            app.call_later(app.show_status)

    def show_busy(self) -> None:
        """Show whether a run works, and what waits for it."""
        app = self._app
        app.actions.show_queue()
        busy = app.activity.busy
        app.line.run(busy)
        app.box.steers = app.driver.steers
        app.box.busy = busy

    def show_status(self) -> None:
        """Fill the status bar."""
        self._status_due = False
        self._app.bar.show_parts(*status_parts(self._app.driver, self._app.activity))

    def _notify(self, text: str) -> None:
        if self._app.has_terminal_focus:
            return
        text = f"{self._app.settings.workspace.name}: {text}"
        if self._notify_how == Notify.DESKTOP.value:
            self._app.actions.spawn(self._notify_desktop(clean(text)))
        else:
            sequence = notification(text, self._notify_how)
            self._app.write(through_tmux(sequence) if os.environ.get("TMUX") else sequence)

    async def _notify_desktop(self, text: str) -> None:
        from pool.facekit.desktop import by_desktop

        if not await asyncio.to_thread(by_desktop, text):
            self._app.write(notification(text, Notify.BELL.value))
