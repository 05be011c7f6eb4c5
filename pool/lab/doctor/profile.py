"""`pool doctor --fix`: what was found, as a profile in the user's own configuration. Shown before it is written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pool.config.describe import toml
from pool.config.files import PROFILES, Places, read_text
from pool.config.keys import keys
from pool.config.profiles import BUILT_IN_PROFILES
from pool.config.settings import SettingsError
from pool.config.tomldoc import NEW_FILE, table_of
from pool.config.writing import PRIVATE_MODE, changing, write_whole
from pool.lab.doctor.finding import Finding, Status
from pool.lab.doctor.subject import Subject

DEFAULT_NAME = "doctor"
SLOW_RATE = 30.0
"""Tokens a second below which the waits and the time of the built-in profile for a DGX Spark are taken over."""

SLOW_KEYS = ("budgets.seconds", "budgets.idle_stop_seconds", "server.wait_seconds", "server.idle_seconds")


def proposal(findings: Iterable[Finding], subject: Subject) -> dict[str, object]:
    """Keys of the configuration and their values, as the findings suggest; {} if nothing can be said.

    A key to the server is never among them, nor an address that holds one.
    """
    by_name = {finding.name: finding for finding in findings}
    reachable = by_name.get("reachable")
    if reachable is None or reachable.status is Status.FAIL:
        return {}
    endpoint = subject.transport.endpoint
    wanted: dict[str, object] = {}
    if endpoint.display == endpoint.base_url:
        wanted["server.base_url"] = endpoint.base_url
    if subject.model and by_name.get("model", reachable).status is not Status.FAIL:
        wanted["server.model"] = subject.model
    told, given = subject.info.window, subject.environment.window
    if given and (not told or given <= told):
        wanted["server.window"] = given
    elif given > told > 0:
        wanted["server.window"] = told
    call = by_name.get("tool-call")
    if call is not None and call.data.get("markup_in_reasoning"):
        wanted["thinking.level"] = "off"
    speed = by_name.get("speed")
    rate = speed.data.get("tokens_per_second", 0.0) if speed is not None else 0.0
    if 0 < rate < SLOW_RATE:
        wanted |= {name: BUILT_IN_PROFILES["spark"][name] for name in SLOW_KEYS}
    return wanted


def as_toml(name: str, values: Mapping[str, object]) -> str:
    """The profile as it will stand in the file."""
    known = keys()
    lines = [f"[{PROFILES}.{name}]", *(f"{key} = {toml(value, known[key].kind)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def user_file(environ: Mapping[str, str]) -> Path:
    """The user's own configuration, with links followed."""
    return Path(os.path.realpath(Places.usual(environ).user_file))


def write(path: Path, name: str, values: Mapping[str, object]) -> None:
    """Lay values over the profile of that name; everything else in the file stays, comments too.

    Raises `SettingsError` for a file that is no TOML or has something else in that place, OSError.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    known = keys()
    with changing(path):
        try:
            document: Any = tomlkit.parse(read_text(path) or NEW_FILE)
        except TOMLKitError as error:
            raise SettingsError(f"{path}: this is no TOML, so nothing was changed: {error}") from None
        for key, value in values.items():
            *tables, leaf = (PROFILES, name, *key.split("."))
            table_of(document, tables)[leaf] = tomlkit.value(toml(value, known[key].kind))
        mode = path.stat().st_mode & 0o777 if path.exists() else PRIVATE_MODE
        write_whole(path, tomlkit.dumps(document), mode)
