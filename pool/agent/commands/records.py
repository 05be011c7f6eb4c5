"""Commands on sessions as they are kept: the name of this one, what it cost, going on with another."""

from __future__ import annotations

import asyncio

from pool.agent.commands.kinds import ActionKind, Command, CommandError, CommandResult, Rows, Typed, act, said
from pool.agent.control import Conversation
from pool.events import SessionNamed
from pool.sessions.figures import Figures, figures_of
from pool.sessions.log import read_rows
from pool.sessions.report import report
from pool.sessions.store import NoSuchSession, by_id, clock, sessions_folder, short_id
from pool.sessions.summary import TITLE_CHARS, plain_line

MOST_LISTED = 20


async def _rename(conversation: Conversation, typed: Typed) -> CommandResult:
    name = plain_line(typed.rest)[:TITLE_CHARS]
    conversation.session.hub.emit(SessionNamed(name))
    return said(f"the session is called {name}" if name else "the session is called by its first prompt again")


async def _stats(conversation: Conversation, typed: Typed) -> CommandResult:
    part = typed.rest or conversation.session.hub.session
    figures = await asyncio.to_thread(_figures, part)
    return CommandResult(rows=Rows(("", ""), tuple(report(figures, 1))))


async def _resume(conversation: Conversation, typed: Typed) -> CommandResult:
    if typed.rest:
        return act(ActionKind.RESUME, (await asyncio.to_thread(_found, typed.rest)))
    rows = await asyncio.to_thread(_listed, conversation.status().workspace, conversation.session.hub.session)
    if not rows:
        return said("there is no other session of this folder; pool sessions --all lists those of all")
    return CommandResult(("/resume ID goes on with one",), Rows(("id", "changed", "what it is about"), rows))


def _found(part: str) -> str:
    try:
        return by_id(sessions_folder(), part).id
    except NoSuchSession as error:
        raise CommandError(str(error)) from None


def _figures(part: str) -> Figures:
    try:
        rows, _ = read_rows(by_id(sessions_folder(), part).path.read_bytes())
    except NoSuchSession as error:
        raise CommandError(f"{error}; a session that is not saved has no statistics") from None
    except OSError as error:
        raise CommandError(f"the session cannot be read: {error.strerror} ({error.filename})") from None
    total = Figures()
    for figures in figures_of(rows).values():
        total.add(figures)
    return total


def _listed(workspace: str, own: str) -> tuple[tuple[str, ...], ...]:
    # SQLite is loaded only when the list is asked for.
    from pool.sessions.index import SessionIndex

    with SessionIndex(sessions_folder(), _silent) as index:
        entries = [entry for entry in index.entries(workspace, MOST_LISTED + 1) if entry.id != own]
    return tuple((short_id(e.id), clock(e.changed), e.title or "(no prompt yet)") for e in entries[:MOST_LISTED])


def _silent(text: str) -> None:
    """That the index was made anew is no matter for a list in a running session."""


COMMANDS = (
    Command("rename", "give the session a name; without one it goes by its first prompt", _rename, hint="[NAME]"),
    Command("stats", "turns, tokens, speeds, tools and times of this session or another", _stats, hint="[ID]"),
    Command(
        "resume", "go on with another session; without an id they are listed", _resume, hint="[ID]", needs_idle=True
    ),
)
