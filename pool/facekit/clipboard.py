"""Copying: by OSC 52 to the terminal, and beside it by a clipboard program or into a file, since many ignore OSC 52."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pool_tools.home import base_folder

PROGRAMS = (
    (("wl-copy",), "WAYLAND_DISPLAY"),
    (("xclip", "-selection", "clipboard"), "DISPLAY"),
    (("xsel", "--clipboard", "--input"), "DISPLAY"),
    (("pbcopy",), ""),
    (("clip.exe",), ""),
)
"""Clipboard programs, and the variable without which each has no clipboard to speak to."""

SECONDS = 2.0
FILE_NAME = "copied.txt"


def by_program(text: str) -> str:
    """Hand the text to the first clipboard program that takes it; its name, or "" (blocking: for a thread)."""
    for command, needs in PROGRAMS:
        if (needs and not os.environ.get(needs)) or shutil.which(command[0]) is None:
            continue
        try:
            subprocess.run(
                command,
                input=text.encode("utf-8", "surrogatepass"),
                timeout=SECONDS,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return command[0]
    return ""


def by_file(text: str) -> Path | None:
    """Write the text where the user can fetch it; the file, or None if that failed too."""
    path = base_folder("XDG_STATE_HOME") / "pool" / FILE_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        return None
    return path
