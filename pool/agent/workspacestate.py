"""Where the agent keeps what it must remember of a workspace, out of the reach of the commands that run there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pool.config.files import Places

_NAME_CHARS = 32


def state_path(workspace: Path, kind: str) -> Path | None:
    """A place in the state folder for one kind of thing, named after the workspace's real path.

    None if the state folder lies in the workspace: a command could then write there what is to be believed.
    """
    real = os.path.realpath(workspace)
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:_NAME_CHARS]
    path = Path(os.path.realpath(Places.usual(os.environ).state)) / kind / name
    return None if path.is_relative_to(real) else path
