"""The command that goes on with a session, as it can be typed where Pool was started."""

from __future__ import annotations

import os
import shlex

from pool.config.settings import Mode, Settings
from pool.facekit.plain import plain


def going_on_words(session: str, mode: Mode) -> str:
    """Which session is gone on with, "" for one that is only looked at and not kept, and in which approval mode."""
    from pool.sessions.store import short_id

    which = f"going on with session {short_id(session)}" if session else "going on with a session, without keeping it"
    return f"{which}, in mode {mode.value}"


def come_back(command: str, session: str, settings: Settings) -> str:
    """command is `pool` or one of its commands; the workspace is named where it is not the current folder.

    So is the server that a flag or a person named for this time, without a name and password in its address.
    """
    here = os.path.realpath(settings.workspace) == os.path.realpath(os.curdir)
    place = "" if here else f"-C {shlex.quote(plain(str(settings.workspace)))} "
    server = f"--base-url {shlex.quote(plain(settings.base_url))} " if _may_be_named(settings) else ""
    return f"{command} {place}{server}-r {session}"


def _may_be_named(settings: Settings) -> bool:
    """Whether the server is one for this time, and its address holds no secret."""
    return settings.server_named and bool(settings.base_url) and not set("@?") & set(settings.base_url)
