"""The API key: from a variable, a command, the keyring, the user's file, or (with a warning) a configuration file."""

from __future__ import annotations

import shlex
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from pool.config.privatefile import read_private
from pool.config.settings import SettingsError
from pool_tools.frozen import frozen
from pool_tools.home import home

COMMAND_SECONDS = 10.0
TABLE = "keys"
KEYRING, SERVERS = "keyring", "servers"
"""Where the file lists the servers whose keys are in the keyring."""

ANY = "default"
"""The name of the key that goes to every server without one of its own."""


def server_name(base_url: str) -> str:
    """What a server's key is kept under: its host and, if given, its port, without any user or password."""
    parts = urlsplit(base_url if "://" in base_url else f"//{base_url}")
    try:
        port = parts.port
    except ValueError:
        port = None
    host = (parts.hostname or "").lower()
    return f"{host}:{port}" if host and port else host


@frozen
class Kept:
    """A key that is kept: the name it is kept under, and its value, "" where the keyring has it."""

    name: str
    value: str = field(default="", repr=False)

    @property
    def entry(self) -> str:
        """What the keyring calls it."""
        return keyring_entry(self.name)


def keyring_entry(name: str) -> str:
    """What the keyring calls the key of a server."""
    return f"server:{name}"


def find_kept(path: Path, base_url: str, warn: list[str]) -> Kept | None:
    """The key that is kept for a server, else the one for all; path is the user's file, which lists all of them.

    Raises `SettingsError` for a file that cannot be used.
    """
    text = read_private(path, warn)
    if text is None:
        return None
    document = _document(path, text)
    values = _table(document, TABLE)
    in_keyring = _in_keyring(document)
    for name in (server_name(base_url), ANY):
        if value := str(values.get(name) or ""):
            return Kept(name, value)
        if name in in_keyring:
            return Kept(name)
    return None


def kept_key(path: Path, base_url: str, env: Mapping[str, str], warn: list[str]) -> str:
    """The key that is kept for a server, "" if none is. Warns where the keyring does not give it.

    Raises `SettingsError` for a file that cannot be used.
    """
    found = find_kept(path, base_url, warn)
    if found is None or found.value:
        return found.value if found else ""
    from pool.config.keyrings import Keyring, NoKeyring

    try:
        value = Keyring(env).get(found.entry)
    except NoKeyring as error:
        why = str(error)
    else:
        if value:
            return value
        why = "the keyring has it no more"
    what = f"the API key for {found.name} is kept in the keyring, but {why}; no API key is sent"
    warn.append(f"{what}. POOL_API_KEY gives one for now, `pool config key --file` keeps it in a file")
    return ""


def keyring_entries(path: Path, warn: list[str]) -> list[str]:
    """What the keyring calls the keys that it has; path is the user's file. Raises `SettingsError` as `find_kept`."""
    text = read_private(path, warn)
    names = _in_keyring(_document(path, text)) if text is not None else []
    return [keyring_entry(str(name)) for name in names]


def _in_keyring(document: Mapping[str, Any]) -> list[object]:
    """The servers whose keys the keyring has."""
    listed = _table(document, KEYRING).get(SERVERS)
    return cast(list[object], listed) if isinstance(listed, list) else []


def warn_of_readers(path: Path, warn: list[str]) -> None:
    """Warn if a file that holds a key may be read by others."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & 0o077:
        warn.append(f"{path}: others may read this file, and it holds an API key; mend it: chmod 600 {path}")


def _document(path: Path, text: str) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # The message of a syntax error may quote a character, never a value.
        raise SettingsError(f"{path}: this is no TOML: {error}") from None


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table: Any = document.get(name)
    return cast(Mapping[str, Any], table) if isinstance(table, dict) else {}


def key_from_variable(name: str, env: Mapping[str, str], warn: list[str], place: str) -> str:
    """The key in a variable; warns if it is not set."""
    value = env.get(name, "").strip()
    if not value:
        warn.append(f"{place}: server.api_key_env names {name}, which is not set; no API key is sent")
    return value


def key_from_command(command: str, place: str) -> str:
    """The first line that a command prints. No shell; stdin is empty. Raises `SettingsError`, without its output."""
    remedy = "run it by hand to see why"
    try:
        words = shlex.split(command)
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
            cwd=home(),
        )
    except (OSError, ValueError, IndexError) as error:
        raise SettingsError(f"{place}: server.api_key_command cannot be run: {error}; {remedy}") from None
    except subprocess.TimeoutExpired:
        raise SettingsError(f"{place}: server.api_key_command took over {COMMAND_SECONDS:g} s; {remedy}") from None
    key = done.stdout.decode("utf-8", "replace").split("\n", 1)[0].strip()
    if done.returncode or not key:
        what = f"ended with {done.returncode}" if done.returncode else "printed nothing"
        raise SettingsError(f"{place}: server.api_key_command {what}; {remedy}")
    return key
