"""`pool config key`: an API key in the system's keyring, else in a file that only its owner can read."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pool.cli.config.command import EXIT_NO, Here
from pool.config.credentials import ANY, KEYRING, SERVERS, TABLE, keyring_entry, server_name
from pool.config.keyrings import PERSON_SECONDS, Keyring, NoKeyring
from pool.config.load import LoadedSettings, load_settings
from pool.config.privatefile import read_private
from pool.config.settings import SettingsError
from pool.config.writing import changing, write_whole
from pool.headless.plain import safe

MOST_CHARS = 8192


def keep_key(here: Here, server: str, *, in_file: bool) -> int:
    """Read a key from stdin and keep it for a server. Raises `SettingsError`, OSError."""
    name = _name(server, _loaded(here))
    key = _typed(name)
    if not key:
        sys.stderr.write("pool config key: nothing was given, so nothing is kept\n")
        return EXIT_NO
    _keep(here, name, key, in_file=in_file)
    return 0


def move_key(here: Here, server: str, *, in_file: bool) -> int:
    """Keep the key that stands in a configuration file, and take it out of there. Raises `SettingsError`, OSError."""
    from pool.cli.config.change import unset

    loaded = _loaded(here)
    source, key = loaded.merge.source("server.api_key"), str(loaded.values["server.api_key"])
    if source is None or not key:
        raise SettingsError("no configuration file that counts here holds server.api_key, so there is nothing to move")
    if source.layer not in ("user", "project", "local"):
        raise SettingsError(f"{source.path}: this file is not yours to change; take server.api_key out by hand")
    _keep(here, _name(server, loaded), _checked(key), in_file=in_file)
    layer, _, profile = loaded.origin("server.api_key").layer.partition(" ")
    return unset(here, source.layer, f"profiles.{profile}.server.api_key" if layer == "profile" else "server.api_key")


def forget_key(here: Here, server: str) -> int:
    """Forget the key of a server. Raises `SettingsError`, OSError."""
    name = _name(server, _loaded(here))
    with changing(here.places.credentials):
        kept = _KeptKeys(here.places.credentials)
        in_file, in_keyring = kept.forget(name)
        if not in_file and not in_keyring:
            raise SettingsError(f"no key is kept for {name}")
        kept.write()
    print(f"the key for {name} is forgotten")
    if in_keyring:
        try:
            Keyring(os.environ, PERSON_SECONDS).remove(keyring_entry(name))
        except NoKeyring as error:
            sys.stderr.write(safe(f"pool config key: it is still in the keyring: {error}", terminal=True) + "\n")
    return 0


def _keep(here: Here, name: str, key: str, *, in_file: bool) -> None:
    why = ""
    if not in_file:
        try:
            Keyring(os.environ, PERSON_SECONDS).put(keyring_entry(name), key)
        except NoKeyring as error:
            why = f" ({error})"
    with changing(here.places.credentials):
        kept = _KeptKeys(here.places.credentials)
        kept.forget(name)
        if in_file or why:
            kept.document.setdefault(TABLE, kept.table())[name] = key
        else:
            kept.list(name)
        kept.write()
    where = f"in {kept.path}, which only you may read{why}" if in_file or why else "in the keyring"
    print(safe(f"the key for {name} is kept {where}", terminal=True))


@dataclass(init=False, slots=True)
class _KeptKeys:
    """The user's file of keys, as a document that keeps its comments."""

    path: Path
    document: Any

    def __init__(self, path: Path) -> None:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        self.path = path
        warnings: list[str] = []
        text = read_private(path, warnings) or ""
        for warning in warnings:
            sys.stderr.write(safe(f"pool config key: {warning}", terminal=True) + "\n")
        try:
            self.document = tomlkit.parse(text)
        except TOMLKitError as error:
            raise SettingsError(f"{path}: this is no TOML, so nothing was changed: {error}") from None

    @staticmethod
    def table() -> Any:
        import tomlkit

        return tomlkit.table()

    def list(self, name: str) -> None:
        """Note that the keyring has the key of that name."""
        self.document.setdefault(KEYRING, self.table()).setdefault(SERVERS, []).append(name)

    def forget(self, name: str) -> tuple[bool, bool]:
        """Take a name out; whether its key was in the file, and whether it is listed as in the keyring."""
        keys: Any = self.document.get(TABLE, {})
        listed: Any = self.document.get(KEYRING, {}).get(SERVERS, [])
        found = name in keys, name in listed
        if found[0]:
            del keys[name]
        if found[1]:
            listed.remove(name)
        return found

    def write(self) -> None:
        import tomlkit

        write_whole(self.path, tomlkit.dumps(self.document))


def _loaded(here: Here) -> LoadedSettings:
    return load_settings(here.workspace, os.environ, places=here.places, with_key=False)


def _name(server: str, loaded: LoadedSettings) -> str:
    """What a server's key is kept under. Raises `SettingsError`."""
    server = server or str(loaded.values["server.base_url"])
    name = ANY if server in ("", ANY) else server_name(server)
    if not name:
        raise SettingsError(f"{server!r} names no server; write it as HOST or HOST:PORT, or {ANY}")
    return name


def _typed(name: str) -> str:
    """The key, from a terminal without showing it, else the first line of stdin. Raises `SettingsError`."""
    if sys.stdin.isatty():
        import getpass

        text = getpass.getpass(f"API key for {name}: ")
    else:
        text = sys.stdin.readline(MOST_CHARS + 1)
    return _checked(text)


def _checked(text: str) -> str:
    key = text.strip()
    if len(text) > MOST_CHARS or not key.isprintable() or not key.isascii():
        raise SettingsError("this is no API key: it must be one line of printable ASCII")
    return key
