"""What a command left that ran when Pool was killed: git's own files are put back at the workspace's next start."""

from __future__ import annotations

from pathlib import Path

from pool.agent.workspacestate import state_path
from pool_tools.sandbox.gitrestore import finish_checks

_KIND = "unfinished"


def journals_folder(workspace: Path) -> Path | None:
    """Where the sandbox writes down what git took orders from before a command, None where that would not be safe."""
    return state_path(workspace, _KIND)


def finish(workspace: Path) -> list[str]:
    """Put back what such commands changed, and say of each what was done. Blocks, shortly where there are none."""
    journals = journals_folder(workspace)
    if journals is None or not journals.is_dir():
        return []
    return [
        f"Pool was killed while a command ran here, and what it changed is checked now: {note}"
        for note in finish_checks((workspace,), journals)
    ]
