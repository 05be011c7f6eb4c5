"""`--model PROFILE:ID`, and the question before what was local goes to a hosted server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pool.config.files import Places
from pool.config.load import load_settings
from pool.config.modelchoice import choice_of, profile_servers
from pool.config.settings import Settings, SettingsError
from pool.headless.plain import safe

FLAG = "--allow-hosted"


def profile_and_model(workspace: Path, profile: str, model: str) -> tuple[str, str]:
    """The profile and the model that `--profile` and `--model` name. Raises `SettingsError` where they contradict."""
    if ":" not in model:
        return profile, model
    choice = choice_of(model, [one.name for one in profile_servers(workspace, os.environ)])
    if choice.profile and profile not in ("", choice.profile):
        raise SettingsError(f"--profile {profile} and --model {model} name two profiles; give one of them")
    return choice.profile or profile, choice.model


def before_leaving(settings: Settings, *, switched: bool, program: str) -> None:
    """Ask before a hosted server gets what was local: a session that goes on, or a task by `--model PROFILE:ID`.

    switched: the flag named a profile. Raises `SettingsError` where nobody can be asked, or says no.
    """
    if not settings.base_url:
        return
    # Not at the start: the interface paints before anything of the wire is imported.
    from pool.wire.locality import is_hosted

    host = _host(settings.base_url)
    if not is_hosted(host):
        return
    before, what = "", ""
    if settings.resume or settings.continue_last or settings.fork:
        before, what = (
            _last_server(settings),
            "the whole conversation, with the contents of files that were read",
        )
    elif switched:
        before, what = _usual_server(settings), "the prompt, files that the model reads"
    if not what or is_hosted(_host(before)):
        return
    text = f"{host} is not on this machine or in your network, as {before or 'a server of this machine'} was. "
    text += f"It gets {what}, AGENTS.md files, and all that follows"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SettingsError(f"{text}. Nobody can be asked here; {FLAG} allows it")
    sys.stderr.write(safe(f"{program}: {text}.\nGo on? [y/N] ", terminal=True))
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise SettingsError(f"not sent to {host}; {FLAG} would not have asked")


def _host(address: str) -> str:
    from pool.wire.endpoint import EndpointError, parse_endpoint

    try:
        return parse_endpoint(address).host if address else "localhost"
    except EndpointError:
        return urlsplit(address).hostname or ""


def _usual_server(settings: Settings) -> str:
    """The server that would be used without the flag."""
    places = Places.usual(os.environ)
    return load_settings(settings.workspace, os.environ, places=places, with_key=False).settings.base_url


def _last_server(settings: Settings) -> str:
    """The server of a session's last run, "" if it cannot be told: opening the session says what is wrong."""
    from pool.sessions.log import read_rows
    from pool.sessions.store import NoSuchSession, by_id, last_of, sessions_folder

    folder = sessions_folder()
    name = settings.resume or settings.fork.partition("@")[0]
    try:
        found = by_id(folder, name) if name else last_of(folder, str(settings.workspace))
        rows, _ = read_rows(found.path.read_bytes())
    except (NoSuchSession, OSError):
        return ""
    return _server_of(reversed(rows))


def _server_of(rows: Iterable[dict[str, Any]]) -> str:
    return next((str(row.get("server", "")) for row in rows if row.get("type") == "run.started"), "")
