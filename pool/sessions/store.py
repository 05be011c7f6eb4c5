"""Where sessions are kept, and finding one: the last of a workspace, or one by the beginning or end of its id."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from pool.sessions.summary import readable, seconds_of, text_of, title_of
from pool_tools.frozen import frozen
from pool_tools.home import base_folder

SUFFIX = ".jsonl"

HEAD_BYTES = 64 * 1024
"""How much of a file is read to list it: its header and the first prompt."""

MOST_SHOWN = 5
"""Of the sessions that an id fits so many are shown."""

SHORT_ID_CHARS = 8
"""The last characters of an id are enough to name it: they are random, while the first ones are a time."""


class NoSuchSession(Exception):
    """No session fits what was asked for. The message says what was looked for, and where."""


@frozen
class Listed:
    """A session as it is listed. prompt is the first line of its first prompt; changed is Unix time in seconds.

    parent is the session that gave it its task, "" for one of a person or a program.
    """

    id: str
    path: Path
    workspace: str
    created: float
    changed: float
    prompt: str
    parent: str = ""


def sessions_folder() -> Path:
    """The folder of all sessions, below the user's state folder (XDG)."""
    return base_folder("XDG_STATE_HOME") / "pool" / "sessions"


def commits_folder() -> Path:
    """Notes of commits that are being made; there only while there are any. See `pool.agent.gitwork.begun`."""
    return sessions_folder().parent / "commits"


def short_id(session: str) -> str:
    """The short form of an id."""
    return session[-SHORT_ID_CHARS:]


def clock(seconds: float, *, year: bool = True) -> str:
    """A Unix time as local date and time, to the minute."""
    try:
        return time.strftime("%Y-%m-%d %H:%M" if year else "%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "?"


def listed(folder: Path) -> list[Listed]:
    """All sessions that can be read, newest first. Files that hold no session (empty, foreign) are left out."""
    return list(_listed(folder, ""))


def last_of(folder: Path, workspace: str) -> Listed:
    """The session of a workspace that was changed last; none of a subagent. Raises `NoSuchSession`."""
    for one in _listed(folder, ""):
        if one.workspace == workspace and not one.parent:
            return one
    raise NoSuchSession(f"there is no session for {workspace} yet (looked in {folder})")


def by_id(folder: Path, part: str) -> Listed:
    """The session whose id begins or ends with part; its hyphens may be left out. Raises `NoSuchSession`.

    A part that several ids fit is refused with a list of them.
    """
    part = part.strip().lower()
    found = list(_listed(folder, part)) if part.strip("-") else []
    whole = [one for one in found if one.id == part]
    if len(found) == 1 or len(whole) == 1:
        return (whole or found)[0]
    if not found:
        raise NoSuchSession(f"no session has an id that begins or ends with {part!r} (looked in {folder})")
    shown = [f"  {one.id}  {clock(one.changed)}  {one.prompt[:60]}" for one in found[:MOST_SHOWN]]
    more = [f"  and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    raise NoSuchSession("\n".join([f"{len(found)} sessions fit {part!r}; give more of the id:", *shown, *more]))


def _listed(folder: Path, part: str) -> Iterator[Listed]:
    """Sessions by the beginning or end of their files' names, newest first, read one after the other."""
    part = part.replace("-", "")
    try:
        with os.scandir(folder) as entries:
            found = [stamp for entry in entries if (stamp := _stamp(entry, part)) is not None]
    except OSError:
        return
    for changed, name in sorted(found, reverse=True):
        try:
            one = _read(folder / name, changed)
        except OSError:
            continue
        if one is not None:
            yield one


def _stamp(entry: os.DirEntry[str], part: str) -> tuple[float, str] | None:
    """When a log that fits was changed, and its name."""
    stem = entry.name.removesuffix(SUFFIX).replace("-", "").lower()
    if not entry.name.endswith(SUFFIX) or not (stem.startswith(part) or stem.endswith(part)):
        return None
    try:
        return (entry.stat().st_mtime, entry.name) if entry.is_file() else None
    except OSError:
        return None


def _read(path: Path, changed: float) -> Listed | None:
    with path.open("rb") as file:
        lines = file.read(HEAD_BYTES).split(b"\n")
    header = _row(lines[0])
    first = next((row for row in map(_row, lines) if row.get("type") == "run.started"), dict[str, Any]())
    prompt = title_of(text_of(first.get("prompt")))
    if header.get("type") == "session":
        if not readable(header):
            return None
        created = seconds_of(header.get("created"))
        names = (text_of(header.get("id")) or path.stem, path, text_of(header.get("workspace")))
        return Listed(*names, created, changed, prompt, text_of(header.get("parent")))
    if not first:
        return None
    # The first line is damaged; a run says the rest.
    return Listed(path.stem, path, text_of(first.get("workspace")), seconds_of(first.get("wall")), changed, prompt)


def _row(line: bytes) -> dict[str, Any]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
