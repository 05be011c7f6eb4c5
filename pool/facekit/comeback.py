"""The command that goes on with a session, as it can be typed where Pool was started."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from pool.config.settings import Mode
from pool.facekit.plain import plain


def going_on_words(session: str, mode: Mode) -> str:
    """Which session is gone on with, "" for one that is only looked at and not kept, and in which approval mode."""
    from pool.sessions.store import short_id

    which = f"going on with session {short_id(session)}" if session else "going on with a session, without keeping it"
    return f"{which}, in mode {mode.value}"


def come_back(command: str, session: str, workspace: Path) -> str:
    """command is `pool` or one of its commands; the workspace is named where it is not the current folder."""
    here = os.path.realpath(workspace) == os.path.realpath(os.curdir)
    place = "" if here else f"-C {shlex.quote(plain(str(workspace)))} "
    return f"{command} {place}-r {session}"
