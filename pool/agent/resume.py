"""Opening a session's log: a new one, or one that goes on where it was left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pool import __version__
from pool.agent.ids import new_id
from pool.config.settings import Settings, SettingsError
from pool.sessions.log import Header, SessionBusy, SessionLog, read_rows
from pool.sessions.replay import Resumed, resumed
from pool.sessions.store import NoSuchSession, by_id, last_of, sessions_folder


@dataclass(slots=True)
class Opened:
    """A session's id, its log (None if nothing is kept), what it holds already, and lines for people."""

    id: str
    log: SessionLog | None = None
    earlier: Resumed = field(default_factory=Resumed)
    notes: list[str] = field(default_factory=list[str])


def open_log(settings: Settings, say: Callable[[str], object]) -> Opened:
    """Open the log that settings ask for. Raises `SettingsError` if the session to go on with cannot be had.

    A new session goes on unsaved if its file cannot be made; say and notes tell.
    """
    if settings.ephemeral:
        return _looked_at(settings) if settings.resume or settings.continue_last else Opened(new_id())
    folder = sessions_folder()
    if settings.fork:
        settings = replace(settings, resume=_forked(settings))
    if settings.resume or settings.continue_last:
        return _reopened(settings, say)
    session = new_id()
    header = Header(session, str(settings.workspace), time.time(), __version__, parent=settings.parent)
    try:
        log = SessionLog.create(folder, header, say)
    except OSError as error:
        return Opened(session, notes=[f"this session is not saved: {error.strerror} ({folder})"])
    log.drop_unused = True
    return Opened(session, log)


def _forked(settings: Settings) -> str:
    """The id of a new session that begins as the one that `fork` names."""
    from pool.sessions.forks import fork
    from pool.sessions.rewinds import NoSuchPrompt

    name, _, at = settings.fork.partition("@")
    session = new_id()
    try:
        source = by_id(sessions_folder(), name)
        fork(source, session, __version__, at=at, workspace=str(settings.workspace))
    except (NoSuchSession, NoSuchPrompt) as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(f"the session cannot be copied: {error.strerror} ({error.filename})") from None
    return session


def _reopened(settings: Settings, say: Callable[[str], object]) -> Opened:
    folder = sessions_folder()
    try:
        found = by_id(folder, settings.resume) if settings.resume else last_of(folder, str(settings.workspace))
        log, rows, damage = SessionLog.reopen(found.path, say)
    except (NoSuchSession, SessionBusy) as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(f"the session cannot be opened: {error.strerror} ({error.filename})") from None
    notes: list[str] = []
    if damage:
        notes.append(f"the session's file was torn at its end: {damage:,} bytes of an unfinished record were dropped")
    earlier = resumed(rows)
    if earlier.left_out:
        notes.append(f"the session's file is damaged: {earlier.left_out} messages beside the damage were left out")
    if found.workspace != str(settings.workspace):
        notes.append(f"the session was made in {found.workspace}")
    return Opened(found.id, log, earlier, notes)


def _looked_at(settings: Settings) -> Opened:
    """What a session holds, under a new id: it is gone on with, and nothing more is kept of it."""
    folder = sessions_folder()
    try:
        found = by_id(folder, settings.resume) if settings.resume else last_of(folder, str(settings.workspace))
        rows, _ = read_rows(found.path.read_bytes())
    except NoSuchSession as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(f"the session cannot be read: {error.strerror} ({error.filename})") from None
    return Opened(new_id(), earlier=resumed(rows))


def other_form(earlier: Resumed, *, native: bool) -> bool:
    """Whether a session's messages have the form of another API than the one that it goes on with."""
    return bool(earlier.head) and ("options" in json.loads(earlier.head)) is not native
