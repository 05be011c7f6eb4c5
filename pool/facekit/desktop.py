"""Telling a person who looks elsewhere by the desktop's own notifications: where the terminal has none."""

from __future__ import annotations

import html
import os
import shutil
import subprocess

SECONDS = 5.0

OSASCRIPT = (
    *("osascript", "-e", "on run texts", "-e", "display notification (item 1 of texts) with title (item 2 of texts)"),
    *("-e", "end run", "--"),
)
"""AppleScript that gets the texts as arguments: they are never part of the script."""


def by_desktop(text: str, title: str = "Pool") -> bool:
    """Show a notification (blocking: for a thread); False where there is no program for it, or it failed."""
    if shutil.which("notify-send") and (os.environ.get("DBUS_SESSION_BUS_ADDRESS") or os.environ.get("DISPLAY")):
        # The body may hold markup, by the specification of desktop notifications.
        command = ["notify-send", f"--app-name={title}", "--", title, html.escape(text)]
    elif shutil.which("osascript"):
        command = [*OSASCRIPT, text, title]
    else:
        return False
    try:
        subprocess.run(
            command,
            timeout=SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True
