"""Sessions that an agent keeps: its list of them, and what it tells of one that is gone on with."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pool.events import Body, CallFinished, CallProposed, Envelope, Event, MessageAdded, Notice, TodoChanged, to_dict
from pool.facekit.agents.descriptions import AgentError
from pool.facekit.agents.translating import Json, Translator, row_of, rows_of, text_of
from pool.facekit.clean import one_line
from pool_tools.frozen import frozen
from pool_tools.text import clip

if TYPE_CHECKING:
    from pool.facekit.agents.connection import AgentConnection

LIST_SECONDS = 30.0
SESSIONS_MOST = 100
PAGES_MOST = 20
"""An agent that gives one page after the other without end is asked no further."""

TITLE_CHARS = 60
TOLD_CHARS_MOST = 64 * 1024 * 1024
"""So much of an earlier conversation is shown; the rest is left out, and that is said."""

_KEYS = {"agent_message_chunk": "content", "agent_thought_chunk": "reasoning", "user_message_chunk": "user"}


@frozen
class Listed:
    """A session of the agent's in this folder. changed is as the agent writes it, "" where it does not."""

    id: str
    title: str
    changed: str


async def listed(connection: AgentConnection, folder: Path) -> Sequence[Listed]:
    """Its sessions in a folder, in its order: the protocol wants the one changed last first. Raises `AgentError`."""
    title = connection.agent.title
    if not connection.abilities.lists:
        raise AgentError(f"{title} does not list its sessions", "/resume ID goes on with one whose id is known")
    found: dict[str, Listed] = {}
    cursor: Json = {}
    for _ in range(PAGES_MOST):
        page = row_of(await connection.ask("session/list", {"cwd": str(folder), **cursor}, LIST_SECONDS))
        for row in rows_of(page.get("sessions")):
            session, place = row.get("sessionId"), row.get("cwd")
            if isinstance(session, str) and session and place in (None, str(folder)):
                named = clip(one_line(str(row.get("title") or "")), TITLE_CHARS)
                found.setdefault(session, Listed(session, named, one_line(str(row.get("updatedAt") or ""))))
        after = page.get("nextCursor")
        if not isinstance(after, str) or not after or len(found) >= SESSIONS_MOST:
            break
        cursor = {"cursor": after}
    return list(found.values())[:SESSIONS_MOST]


class Retelling:
    """Takes the updates that come before the answer to `session/load`; gives them as rows of a session's log."""

    def __init__(self, folder: Path) -> None:
        self._calls = Translator(folder)
        self._folder = folder
        self._rows: list[dict[str, Any]] = []
        self._kind = ""
        self._message: str = ""
        self._pieces: list[str] = []
        self._chars = 0

    def take(self, update: Json) -> None:
        """An update of the past."""
        self._chars += len(json.dumps(update))
        if self._chars > TOLD_CHARS_MOST:
            return
        kind = str(update.get("sessionUpdate"))
        if kind in _KEYS:
            self._piece(kind, str(update.get("messageId") or ""), text_of(update.get("content")))
            return
        for body, call in self._calls.of(update):
            if isinstance(body, CallProposed | CallFinished | TodoChanged):
                self._flush()
                self._add(body, call)

    def rows(self) -> Sequence[dict[str, Any]]:
        """All of it."""
        self._flush()
        if self._chars > TOLD_CHARS_MOST:
            self._add(Notice("warning", "the rest of the conversation is too long to be shown", ""))
        return self._rows

    def _piece(self, kind: str, message: str, text: str) -> None:
        if kind != self._kind or message != self._message:
            self._flush()
            self._kind, self._message = kind, message
        self._pieces.append(text)

    def _flush(self) -> None:
        text, kind = "".join(self._pieces), self._kind
        self._pieces, self._kind = [], ""
        if not text.strip():
            return
        role = "user" if _KEYS[kind] == "user" else "assistant"
        key = "content" if role == "user" else _KEYS[kind]
        self._add(MessageAdded(role, json.dumps({"role": role, key: text})))

    def _add(self, body: Body, call: str = "") -> None:
        envelope = Envelope("", "", 0, len(self._rows), time.time(), time.monotonic(), "", call)
        self._rows.append(to_dict(Event(envelope, body)))
