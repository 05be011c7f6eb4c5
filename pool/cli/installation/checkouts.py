"""What Pool left in the checkouts that its sessions worked in, as far as the sessions on disk tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pool.agent.gitwork.worktrees import BRANCH_PREFIX, PLACE_SUFFIX
from pool.config.files import FOLDER, LOCAL_FILE, project_folder
from pool.config.gitexclude import PATTERN
from pool.sessions.store import listed, sessions_folder


def checkouts(here: Path) -> list[Path]:
    """The folders that sessions worked in and that still exist, and the one named."""
    folders = [here, *(Path(one.workspace) for one in listed(sessions_folder()) if one.workspace.startswith("/"))]
    return [folder for folder in dict.fromkeys(folders) if _is_folder(folder)]


def local_settings(folders: Sequence[Path]) -> list[Path]:
    """The user's own settings for a checkout."""
    found = dict.fromkeys(project_folder(folder) / FOLDER / LOCAL_FILE for folder in folders)
    return [file for file in found if file.is_file() and not file.is_symlink()]


def left(folders: Sequence[Path]) -> Iterator[str]:
    """What stays in them, for people: it may hold work, or belong to the project."""
    for place in dict.fromkeys(_worktrees(folder) for folder in folders):
        if place is not None:
            yield f"{place}: worktrees, with work that may not be merged (git worktree remove FOLDER)"
    for project in dict.fromkeys(project_folder(folder) / FOLDER for folder in folders):
        if _is_folder(project) and any(path.name != LOCAL_FILE for path in project.iterdir()):
            yield f"{project}: settings, skills and the like that belong to the project"
    yield f"branches that sessions made: git branch --list '{BRANCH_PREFIX}*' (there are no other refs, and no hooks)"
    yield f"in checkouts whose sessions were deleted before: {FOLDER}/{LOCAL_FILE}, {PATTERN} in .git/info/exclude"


def _worktrees(folder: Path) -> Path | None:
    top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    place = top.with_name(f"{top.name}{PLACE_SUFFIX}") if top else None
    return place if place and _is_folder(place) else None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
