"""Paths as people write them: what lies in the home folder begins with `~`."""

from __future__ import annotations

from pathlib import Path

from pool_tools.home import home as users_home


def homely(path: Path) -> str:
    """A path as text, `~` in the place of the home folder."""
    home, text = str(users_home()), str(path)
    return "~" + text[len(home) :] if text == home or text.startswith(home + "/") else text
