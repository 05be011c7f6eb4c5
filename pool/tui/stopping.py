"""What Esc and Ctrl-C do: close what is open, stop what works, empty the box; twice, go back or leave."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pool.tui.screens.frame import PanelScreen
from pool.tui.times import AFTER_STOP_SECONDS, AGAIN_SECONDS

if TYPE_CHECKING:
    from pool.tui.app import PoolApp


class Stopping:
    """Knows when each was pressed last. Used on the app's loop."""

    def __init__(self, app: PoolApp) -> None:
        self._app = app
        self._escaped = self._interrupted = self._stopped = 0.0

    def begin_anew(self) -> None:
        """Something else was done: the next Esc is the first of two."""
        self._escaped = 0.0

    def escape(self) -> None:
        """Close what is open; else stop the run; else, twice with nothing typed, rewind."""
        app, now = self._app, time.monotonic()
        if len(app.screen_stack) > 1:
            self._escaped = 0.0
            if not (isinstance(app.screen, PanelScreen) and app.screen.escaped()):
                app.screen.dismiss(None)
        elif app.completing.close() or app.approval.close_writing() or app.questions.close_writing():
            return
        elif app.focused is app.box and app.box.escaped():
            self._escaped = 0.0
        elif app.activity.busy or app.actions.shell.running:
            self._stopped = now
            app.actions.stop()
        elif app.driver.opening and app.actions.stop_opening():
            self._stopped = now
        elif app.focused is not app.box:
            app.screen.set_focus(app.box)  # at once: the next key may be there already
        elif app.box.text or now - self._stopped < AFTER_STOP_SECONDS:
            self._escaped = 0.0
        elif now - self._escaped < AGAIN_SECONDS:
            self._escaped = 0.0
            app.actions.command("/undo")
        else:
            self._escaped = now
            app.hint(f"{app.key('stop')} again goes back to an earlier prompt")

    def interrupt(self) -> None:
        """Copy a selection; stop the run, if it works here; empty the box; else, twice, leave."""
        app, now = self._app, time.monotonic()
        if text := app.transcript.selected_text or app.box.selected_text:
            app.actions.copy(text)
        elif (app.activity.busy and not app.driver.attached) or app.actions.shell.running:
            self._stopped = now
            app.actions.stop()
        elif app.box.text:
            app.recall.add(app.box.full_text)
            app.box.take()
            app.hint(f"cleared; {app.key('history_back')} brings it back")
            app.question_keys.lead_back()
        elif now - self._interrupted < AGAIN_SECONDS:
            app.leave()
        else:
            self._interrupted = now
            app.hint(f"{app.key('interrupt')} again leaves")
