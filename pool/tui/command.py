"""Running the app: from settings to the exit code, and the words that are left on the terminal."""

from __future__ import annotations

import sys

from pool.config.settings import Settings
from pool.tui.app import PoolApp
from pool_themes import DEFAULT, ThemeError, load

EXIT_USAGE = 2


def run_app(settings: Settings, *, prompt: str = "", theme: str = "") -> int:
    """Show the interface until it is left; returns the exit code. Afterwards says how to come back to the session."""
    try:
        load(theme or DEFAULT)
    except ThemeError as error:
        sys.stderr.write(f"pool: {error}\n")
        return EXIT_USAGE
    app = PoolApp(settings, prompt=prompt, theme=theme or DEFAULT)
    code = app.run()
    if app.ran and (session := app.driver.kept_session):
        sys.stdout.write(f"To go on with this session: pool -r {session}\n")
    return app.return_code or code or 0
