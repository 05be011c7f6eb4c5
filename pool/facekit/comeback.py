"""The command that goes on with a session, as it can be typed where Pool was started."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from pool.facekit.plain import plain


def come_back(command: str, session: str, workspace: Path) -> str:
    """command is `pool` or one of its commands; the workspace is named where it is not the current folder."""
    here = os.path.realpath(workspace) == os.path.realpath(os.curdir)
    place = "" if here else f"-C {shlex.quote(plain(str(workspace)))} "
    return f"{command} {place}-r {session}"
