"""A note of the commit that is being made, so that one whose process died before the index followed can be finished.

After such a death git takes the commit's files for staged the other way round: the next plain `git commit` would take
the work back without a word. The note lies in Pool's state folder and is there only while a commit is made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pool.config.writing import write_whole
from pool.sessions.checkpoints.repository import Repository, repository_of
from pool.sessions.store import commits_folder
from pool_tools.frozen import frozen


@frozen
class Begun:
    """head is the commit that was checked out, "" for none.

    before has every path that was to be committed, with its mode and object in that commit, None for a new file.
    """

    head: str
    before: Mapping[str, tuple[str, str] | None]


def note_begun(repository: Repository, begun: Begun) -> None:
    """Keep the note; where the state folder cannot be written there is none."""
    with contextlib.suppress(OSError):
        write_whole(_path(repository), json.dumps({"head": begun.head, "before": dict(begun.before)}))


def note_ended(repository: Repository) -> None:
    """The index has followed, or no commit was made."""
    with contextlib.suppress(OSError):
        _path(repository).unlink()
        commits_folder().rmdir()


def left_begun(repository: Repository) -> Begun | None:
    """The note that a process left behind, None if there is none that can be read."""
    try:
        row: Any = json.loads(_path(repository).read_bytes())
        before = cast(dict[str, list[str] | None], row["before"])
        return Begun(str(row["head"]), {path: (e[0], e[1]) if e else None for path, e in before.items()})
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def begun_words(workspace: Path) -> str:
    """What a person should know when a session starts: a commit was made here whose index did not follow; else ""."""
    repository = repository_of(Path(os.path.realpath(workspace)))
    if repository is None or (begun := left_begun(repository)) is None or _head(repository) in ("", begun.head):
        return ""
    return (
        "Pool was ended in the middle of a commit here: git status may show its files as staged the other way round. "
        "/commit (or pool commit) brings the index up to it; do that before you commit with git"
    )


def _head(repository: Repository) -> str:
    # Loaded only in the rare case that there is a note.
    from pool.sessions.checkpoints.githead import head_commit
    from pool.sessions.checkpoints.gitobjects import NoObject

    try:
        return (head_commit(repository) or b"").hex()
    except NoObject:
        return ""


def _path(repository: Repository) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(repository.folder))).hexdigest()[:24]
    return commits_folder() / f"{name}.json"
