"""Running the app: from settings to the exit code, and the words that are left on the terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pool.config.interface import AUTO_THEME
from pool.config.settings import Settings
from pool.facekit.comeback import come_back
from pool.facekit.plain import plain
from pool.tui.app import PoolApp
from pool.tui.background import Question, theme_for
from pool.tui.base import Fault
from pool.tui.browser import in_browser
from pool.tui.keys import RemapError, bound
from pool_themes import ThemeError, load

EXIT_INTERNAL = 1
EXIT_USAGE = 2

DEBUG_VARIABLE = "POOL_DEBUG"


def run_app(settings: Settings, question: Question, *, prompt: str = "", own_themes: Path | None = None) -> int:
    """Show the interface until it is left; returns the exit code. Afterwards says how to come back to the session.

    question is what the terminal has been asked, if it has.
    """
    answer = question.answer()
    try:
        theme = theme_for(answer.dark, os.environ) if settings.ui.theme == AUTO_THEME else settings.ui.theme
        load(theme, own_themes)
        keys = bound(settings.ui.keys)
    except (ThemeError, RemapError) as error:
        sys.stderr.write(f"pool: {error}\n")
        return EXIT_USAGE
    if answer.late:
        from pool.tui.parser import drop_late_answers

        drop_late_answers()
    app = PoolApp(settings, prompt=prompt, theme=theme, own_themes=own_themes, keys=keys, typed=answer.typed)
    code = app.run(mouse=settings.ui.mouse)
    if app.fault is not None:
        _tell(app.fault)
    if app.ran and (session := app.driver.kept_session):
        # In a browser stdout is not for words.
        out = sys.stderr if in_browser(os.environ) else sys.stdout
        out.write(f"To go on with this session: {come_back('pool', session, app.settings.workspace)}\n")
    return EXIT_INTERNAL if app.fault is not None else app.return_code or code or 0


def _tell(fault: Fault) -> None:
    if os.environ.get(DEBUG_VARIABLE):
        sys.stderr.write("\n".join(map(plain, fault.trace.split("\n"))))
        return
    sys.stderr.write(f"pool failed inside: {plain(fault.what)}\n")
    sys.stderr.write(f"  This is a defect of Pool. {DEBUG_VARIABLE}=1 shows where; please report it.\n")
