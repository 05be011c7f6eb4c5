"""The API key: from a variable, a command, the user's file of keys, or (with a warning) a configuration file."""

from __future__ import annotations

import shlex
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from pool.config.files import read_text
from pool.config.settings import SettingsError
from pool_tools.home import home

COMMAND_SECONDS = 10.0
TABLE = "keys"
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


def kept_key(path: Path, base_url: str, warn: list[str]) -> str:
    """The key that the user's file holds for a server, "" if none. Warns of a file that others may read.

    Raises `SettingsError` for a file that cannot be read.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise SettingsError(f"{path}: the API keys cannot be read: {error.strerror or error}") from None
    if text is None:
        return ""
    warn_of_readers(path, warn)
    found = _table(path, text)
    return str(found.get(server_name(base_url)) or found.get(ANY) or "")


def warn_of_readers(path: Path, warn: list[str]) -> None:
    """Warn if a file that holds a key may be read by others."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & 0o077:
        warn.append(f"{path}: others may read this file, and it holds an API key; mend it: chmod 600 {path}")


def _table(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        table: Any = tomllib.loads(text).get(TABLE)
    except tomllib.TOMLDecodeError as error:
        # The message of a syntax error may quote a character, never a value.
        raise SettingsError(f"{path}: this is no TOML: {error}") from None
    return cast(dict[str, Any], table) if isinstance(table, dict) else {}


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
