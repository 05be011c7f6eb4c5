"""Running the app: from settings to the exit code, and the words that are left on the terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pool.config.interface import AUTO_THEME
from pool.config.settings import Settings
from pool.facekit.plain import plain
from pool.tui.app import PoolApp
from pool.tui.background import Question, theme_for
from pool.tui.base import SIGNALLED, Fault
from pool.tui.browser import in_browser
from pool.tui.garbage import Garbage
from pool.tui.keys import RemapError, bound
from pool.tui.parser import use_parser
from pool_themes import ThemeError, load

if TYPE_CHECKING:
    from pool.agent.control import Conversation
    from pool.facekit.agents.descriptions import AgentDescription
    from pool.facekit.live.place import Attachment

EXIT_INTERNAL = 1
EXIT_USAGE = 2

DEBUG_VARIABLE = "POOL_DEBUG"


Outlive = Callable[["Conversation"], Awaitable[int]]
"""Lets the run of a conversation work to its end, without a terminal; its exit code."""


def run_app(
    settings: Settings,
    question: Question,
    *,
    prompt: str = "",
    own_themes: Path | None = None,
    attachment: Attachment | AgentDescription | None = None,
    outlive: Outlive | None = None,
) -> int:
    """Show the interface until it is left; returns the exit code. Afterwards says how to come back to the session.

    question is what the terminal has been asked, if it has; attachment is a run in another process, or another agent,
    to be shown in the place of a session here: a run's exit code is returned if it has ended. outlive lets a run go on
    whose terminal is gone.
    """
    answer = question.answer()
    try:
        theme = theme_for(answer.dark, os.environ) if settings.ui.theme == AUTO_THEME else settings.ui.theme
        load(theme, own_themes)
        keys = bound(settings.ui.keys)
    except (ThemeError, RemapError) as error:
        sys.stderr.write(f"pool: {error}\n")
        return EXIT_USAGE
    use_parser(vi=settings.ui.vi)
    app = PoolApp(
        settings,
        prompt=prompt,
        theme=theme,
        own_themes=own_themes,
        keys=keys,
        typed=answer.typed,
        attachment=attachment,
        can_leave_behind=outlive is not None,
        garbage=Garbage(),
    )
    code = asyncio.run(_shown(app, outlive))
    if app.fault is not None:
        _tell(app.fault)
    # In a browser stdout is not for words.
    out = sys.stderr if in_browser(os.environ) else sys.stdout
    if code and code > SIGNALLED:
        out.write(f"Pool was ended by {signal.Signals(code - SIGNALLED).name}.\n")
    if words := app.driver.last_words():
        out.write(f"{words}\n")
    elif app.ran and (session := app.driver.kept_session):
        from pool.facekit.comeback import come_back

        out.write(f"To go on with this session: {come_back('pool', session, app.settings)}\n")
    if app.fault is not None:
        return EXIT_INTERNAL
    return app.return_code or code or (app.driver.failure_code if app.driver.ended else 0)


async def _shown(app: PoolApp, outlive: Outlive | None) -> int | None:
    """Run the app, and what it leaves behind to its end; the exit code."""
    code = await app.run_async(mouse=app.settings.ui.mouse)
    conversation = app.leaving.left_behind
    if conversation is None or outlive is None:
        return code
    from pool.sessions.store import short_id

    name = short_id(conversation.hub.session)
    sys.stdout.write(f"The run goes on without this terminal: pool attach {name} shows it, pool stop {name} ends it\n")
    sys.stdout.flush()
    try:
        return await outlive(conversation)
    finally:
        await app.leaving.close()


def _tell(fault: Fault) -> None:
    if os.environ.get(DEBUG_VARIABLE):
        sys.stderr.write("\n".join(map(plain, fault.trace.split("\n"))))
        return
    sys.stderr.write(f"pool failed inside: {plain(fault.what)}\n")
    sys.stderr.write(f"  This is a defect of Pool. {DEBUG_VARIABLE}=1 shows where; please report it.\n")
