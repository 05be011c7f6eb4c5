"""The user's own editor on a text: `$VISUAL`, `$EDITOR`, else what is there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

USUAL = ("nano", "vim", "vi")


class EditorError(Exception):
    """No editor could be run. The message says which was tried and how to name another."""


def editor_command(environ: dict[str, str]) -> list[str]:
    """The editor as words. Raises `EditorError` if there is none."""
    given = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if given.strip():
        try:
            return shlex.split(given)
        except ValueError as error:
            raise EditorError(f"$EDITOR is {given!r}, which is no command: {error}") from None
    for name in USUAL:
        if shutil.which(name):
            return [name]
    raise EditorError("there is no editor; set EDITOR, as in: export EDITOR=nano")


def edited(text: str, environ: dict[str, str]) -> str:
    """The text as the user left it (blocking; the terminal must be free). Raises `EditorError`."""
    command = editor_command(environ)
    handle, name = tempfile.mkstemp(prefix="pool-prompt-", suffix=".md")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        try:
            done = subprocess.run([*command, name], check=False)
        except OSError as error:
            raise EditorError(f"the editor {command[0]!r} cannot be run: {error.strerror}; set EDITOR") from None
        if done.returncode:
            raise EditorError(f"the editor {command[0]!r} ended with {done.returncode}; the prompt is as it was")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    finally:
        path.unlink(missing_ok=True)
