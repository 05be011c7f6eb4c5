"""What a command left that ran when Pool was killed: git's own files are put back at the workspace's next start."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pool.config.files import Places
from pool_tools.sandbox.gitrestore import finish_checks

_NAME_CHARS = 32


def journals_folder(workspace: Path) -> Path | None:
    """Where the sandbox writes down what git took orders from before a command.

    None if the state folder lies in the workspace: a command could then say there what is to be put back.
    """
    real = os.path.realpath(workspace)
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:_NAME_CHARS]
    folder = Path(os.path.realpath(Places.usual(os.environ).state)) / "unfinished" / name
    return None if folder.is_relative_to(real) else folder


def finish(workspace: Path) -> list[str]:
    """Put back what such commands changed, and say of each what was done. Blocks, shortly where there are none."""
    journals = journals_folder(workspace)
    if journals is None or not journals.is_dir():
        return []
    return [
        f"Pool was killed while a command ran here, and what it changed is checked now: {note}"
        for note in finish_checks((workspace,), journals)
    ]
