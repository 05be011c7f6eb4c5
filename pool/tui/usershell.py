"""The user's own shell commands (`!`): run and shown; their output goes to the model with the next prompt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pool.facekit.activity import time_words
from pool.facekit.shellline import TOLD_CHARS, ShellLine, untold
from pool.tui.note import Note
from pool.tui.transcript.notice import ErrorCard

if TYPE_CHECKING:
    from pool.tui.app import PoolApp


class UserShell:
    """One command at a time. Used on the app's loop."""

    def __init__(self, app: PoolApp) -> None:
        self._app = app
        self._line: ShellLine | None = None
        self._since = 0.0
        self._told: list[str] = []

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return self._line is not None

    def words(self) -> list[str]:
        """What the line above the box says while one runs."""
        return ["your command", time_words(time.monotonic() - self._since)]

    def stop(self) -> None:
        """Stop the command, if one runs."""
        if self._line is not None:
            self._line.stop()

    def take_told(self) -> list[str]:
        """What the model has not been told of yet."""
        told, self._told = self._told, []
        return told

    def earlier(self, rows: Sequence[dict[str, Any]]) -> None:
        """What was run last in a session that is gone on with is still to be told; no rows: it is a new session."""
        self._told = untold(rows) if rows else []

    async def run(self, command: str) -> None:
        """Run a command and show what it says."""
        app = self._app
        if self._line is not None:
            app.hint(f"a command of yours is still running; {app.key('stop')} ends it")
            return
        self._line = line = ShellLine(command, app.settings.workspace)
        title = f"! {command} · running"
        entry = app.transcript.add(Note("", title=title))
        self._since = time.monotonic()
        app.line.run(True)
        try:
            await line.run(
                lambda text: app.transcript.replace(entry, Note(line.output, title=f"! {command} · running"))
            )
        except OSError as error:
            app.transcript.replace(entry, ErrorCard(f"! {command}", f"your shell cannot be started: {error.strerror}"))
            return
        finally:
            self._line = None
            app.line.run(app.activity.busy)
        app.transcript.replace(entry, Note(line.output, title=f"! {command} · {line.ended}"))
        self._told.append(line.told())
        if (conversation := app.driver.conversation) is not None:
            conversation.note_command(command, line.output[-TOLD_CHARS:], line.ended)
