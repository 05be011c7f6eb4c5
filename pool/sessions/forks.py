"""Forks: a new session that begins with another's messages, byte for byte, so that the server's cache still serves."""

from __future__ import annotations

import time
from pathlib import Path

from pool.events import (
    Body,
    Envelope,
    Event,
    HeadSet,
    MessageAdded,
    PlanProposed,
    PromptCopied,
    SessionNamed,
    TodoChanged,
    to_dict,
)
from pool.messages import Role
from pool.sessions.log import Header, read_rows
from pool.sessions.replay import resumed
from pool.sessions.rewinds import prompt_named
from pool.sessions.store import Listed
from pool.sessions.wholelog import write_logs

TITLE_CHARS = 60


def fork(
    source: Listed,
    new_id: str,
    pool: str,
    *,
    at: str = "",
    workspace: str = "",
    last: bytes = b"",
    title: str = "",
) -> Path:
    """Make a session new_id from another, which may be open meanwhile; returns the path of its log.

    at is a prompt, by number or the beginning of its run's id: the fork goes on from right before it. "" is the end.
    workspace "" means that of the source. pool is the version that makes it. last is a user message, encoded, that ends
    the fork; it replaces a user message there. title is its name instead of one made of the source's. Raises
    `NoSuchPrompt`, and `OSError` where it cannot be kept; then nothing is left of it.
    """
    rows, _ = read_rows(source.path.read_bytes())
    name = title or (f"fork: {source.prompt[:TITLE_CHARS]}" if source.prompt else "")
    if at:
        prompt = prompt_named(rows, at)
        rows = [row for row in rows if not isinstance(row.get("seq"), int) or row["seq"] < prompt.seq]
    earlier = resumed(rows)
    header = Header(new_id, workspace or source.workspace, time.time(), pool, forked_from=source.id)
    bodies: list[Body] = [HeadSet(earlier.head)] if earlier.head else []
    starts = dict(earlier.starts)
    for place, one in enumerate(earlier.messages):
        if (prompt := starts.get(place)) is not None:
            bodies.append(PromptCopied(prompt.text, prompt.run, prompt.at))
        bodies.append(MessageAdded(one.message.role.value, one.data.decode()))
    if last:
        replaces = bool(earlier.messages) and earlier.messages[-1].message.role is Role.USER
        bodies.append(MessageAdded(Role.USER.value, last.decode(), replaces_last=replaces))
    bodies += [SessionNamed(name)] if name else []
    bodies += [TodoChanged(earlier.work.todo)] if earlier.work.todo else []
    bodies += [PlanProposed(earlier.work.plan)] if earlier.work.plan else []
    events = (
        Event(Envelope(new_id, "", 0, seq, time.time(), time.monotonic()), body) for seq, body in enumerate(bodies)
    )
    return write_logs(source.path.parent, [(new_id, [header.row(), *map(to_dict, events)])])[0]
