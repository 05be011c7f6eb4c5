"""Where sessions are kept, and finding one: the last of a workspace, or one by the beginning of its id."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pool.events import SCHEMA_VERSION

HEAD_BYTES = 64 * 1024
"""How much of a file is read to list it: its header and the first prompt."""

MAX_SECONDS = 1e12
"""Latest Unix time that a header is believed."""


class NoSuchSession(Exception):
    """No session fits what was asked for. The message says what was looked for, and where."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as it is listed. prompt is the first line of its first prompt; changed is Unix time in seconds."""

    id: str
    path: Path
    workspace: str
    created: float
    changed: float
    prompt: str


def sessions_folder() -> Path:
    """The folder of all sessions, below the user's state folder (XDG)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "pool" / "sessions"


def listed(folder: Path) -> list[Listed]:
    """All sessions that can be read, newest first. Files that hold no session (empty, foreign) are left out."""
    out: list[Listed] = []
    try:
        paths = [p for p in folder.iterdir() if p.suffix == ".jsonl"]
    except OSError:
        return []
    for path in paths:
        try:
            one = _listed(path)
        except OSError:
            continue
        if one is not None:
            out.append(one)
    return sorted(out, key=lambda s: s.changed, reverse=True)


def last_of(folder: Path, workspace: str) -> Listed:
    """The session of a workspace that was changed last. Raises `NoSuchSession`."""
    for one in listed(folder):
        if one.workspace == workspace:
            return one
    raise NoSuchSession(f"there is no session for {workspace} yet (looked in {folder})")


def by_id(folder: Path, start: str) -> Listed:
    """The session whose id begins or ends with start. Raises `NoSuchSession`, also if several do."""
    found = [s for s in listed(folder) if start and (s.id.startswith(start) or s.id.endswith(start))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchSession(f"no session has an id that begins or ends with {start!r} (looked in {folder})")
    ids = ", ".join(s.id for s in found[:5])
    raise NoSuchSession(f"{len(found)} sessions fit {start!r}: {ids}; give more of the id")


def _listed(path: Path) -> Listed | None:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    lines = head.split(b"\n")
    header = _row(lines[0])
    version, created = header.get("v", 0), header.get("created", 0.0)
    if header.get("type") != "session" or not isinstance(version, int) or version > SCHEMA_VERSION:
        return None
    prompts = (str(r.get("prompt", "")) for r in map(_row, lines[1:]) if r.get("type") == "run.started")
    prompt = next(prompts, "").strip().split("\n")[0]
    stat = path.stat()
    return Listed(
        str(header.get("id", path.stem)),
        path,
        str(header.get("workspace", "")),
        float(created) if isinstance(created, (int, float)) and abs(created) <= MAX_SECONDS else 0.0,
        stat.st_mtime,
        prompt,
    )


def _row(line: bytes) -> dict[str, Any]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
