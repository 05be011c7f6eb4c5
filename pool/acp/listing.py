"""Sessions on disk, for a client: listed page by page, and deleted."""

from __future__ import annotations

import datetime
from typing import Any

from pool.extend.acp.errors import INVALID_REQUEST, RpcError, bad_params
from pool.sessions.index import SessionEntry, SessionIndex
from pool.sessions.log import SessionBusy
from pool.sessions.manage import delete
from pool.sessions.store import NoSuchSession, by_id, sessions_folder

Json = dict[str, Any]

PAGE = 50
"""Sessions in one answer."""


def page_of(folder: str, cursor: str) -> Json:
    """The answer to `session/list`: those of a folder, or all, the one changed last first (blocking: for a thread).

    The cursor is the last id of the page before, so that sessions that come meanwhile move nothing.
    """
    with SessionIndex(sessions_folder(), lambda text: None) as index:
        entries = [entry for entry in index.entries(folder) if entry.prompts]
    start = 0
    if cursor:
        start = next((n for n, entry in enumerate(entries, 1) if entry.id == cursor), -1)
        if start < 0:
            raise bad_params(f"`cursor` {cursor!r} is none that session/list gave, or its session is gone; list anew")
    page = entries[start : start + PAGE]
    out: Json = {"sessions": [_row(entry) for entry in page]}
    if start + PAGE < len(entries):
        out["nextCursor"] = page[-1].id
    return out


def _row(entry: SessionEntry) -> Json:
    changed = datetime.datetime.fromtimestamp(entry.changed, datetime.UTC)
    return {
        "sessionId": entry.id,
        "cwd": entry.workspace,
        "title": entry.title or None,
        "updatedAt": changed.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def exists(session: str) -> bool:
    """Whether there is a session of exactly that id (blocking: for a thread)."""
    try:
        return by_id(sessions_folder(), session).id == session
    except NoSuchSession:
        return False


def remove(session: str) -> None:
    """Delete a session; one that is gone is none to delete (blocking: for a thread). Raises `RpcError`."""
    try:
        found = by_id(sessions_folder(), session)
    except NoSuchSession:
        return
    if found.id != session:
        return
    try:
        delete(found.path, found.id)
    except SessionBusy as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None
    except OSError as error:
        raise RpcError(INVALID_REQUEST, f"the session cannot be deleted: {error.strerror}") from None
