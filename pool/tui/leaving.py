"""How the app is left: in order, by a signal, or without its run, which goes on when the terminal goes."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from pool.config.interface import OnHangup
from pool.facekit.driver import Driver
from pool.tui.base import SIGNALLED, terminal_gone

if TYPE_CHECKING:
    from pool.agent.control import Conversation
    from pool.tui.app import PoolApp

STREAMS = (0, 1, 2)


class Leaving:
    """Used on the app's loop. left_behind is the conversation whose run goes on without the app, None if none does."""

    def __init__(self, app: PoolApp) -> None:
        self._app = app
        self.left_behind: Conversation | None = None

    def signalled(self, code: int) -> None:
        """SIGTERM ends the app. SIGHUP does, too, but a run that works is left to go on, unless that is not wanted."""
        if self.left_behind is not None:
            return
        if code == SIGNALLED + signal.SIGHUP and self._hang_up():
            self._app.exit(code)
        else:
            self._app.leave(code)

    def _hang_up(self) -> bool:
        """The terminal goes: get ready to leave without the run; False if none works, or it is to end."""
        app, driver = self._app, self._app.driver
        if app.settings.ui.on_hangup is OnHangup.STOP or not app.can_leave_behind or not isinstance(driver, Driver):
            return False
        conversation = driver.conversation
        if conversation is None or not conversation.busy:
            return False
        self.left_behind = conversation
        app.recall.save_draft(app.box.full_text)
        app.actions.shell.stop()
        app.person.leave()
        driver.let_go()
        if terminal_gone():
            silence()
        return True

    async def leave(self, code: int) -> None:
        """Close the session with all that was started; a run that works is stopped, and says why."""
        app = self._app
        app.recall.save_draft(app.box.full_text)
        app.actions.shell.stop()
        if code > SIGNALLED and app.driver.conversation is not None:
            _stop_for_signal(app.driver.conversation, code - SIGNALLED)
        await self.close()
        app.exit(code)

    async def close(self) -> None:
        """Close the session, and the simulated server if one was started for it."""
        await self._app.driver.close()
        await self._app.first_start.stop()


def _stop_for_signal(conversation: Conversation, number: int) -> None:
    from pool.agent.state import Stop
    from pool.stops import StopReason

    conversation.stop(Stop(StopReason.SIGNALLED, f"signal {signal.Signals(number).name}", number))


def silence() -> None:
    """Read from and write to nothing from now on: a terminal that is gone gives errors."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for target in STREAMS:
        os.dup2(null, target)
    os.close(null)
