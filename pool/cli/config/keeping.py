"""`pool config key`: an API key in a file that only its owner can read."""

from __future__ import annotations

import os
import sys
from typing import Any

from pool.cli.config.command import EXIT_NO, Here
from pool.config.credentials import ANY, TABLE, server_name
from pool.config.files import read_text
from pool.config.load import load_settings
from pool.config.settings import SettingsError
from pool.config.writing import write_whole

MOST_CHARS = 8192


def keep_key(here: Here, server: str, *, remove: bool) -> int:
    """Read a key from stdin and keep it for a server, or forget it. Raises `SettingsError`, OSError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if not server:
        loaded = load_settings(here.workspace, os.environ, places=here.places, with_key=False)
        server = str(loaded.values["server.base_url"])
    name = ANY if server in ("", ANY) else server_name(server)
    if not name:
        raise SettingsError(f"{server!r} names no server; write it as HOST or HOST:PORT, or {ANY}")
    path = here.places.credentials
    try:
        document: Any = tomlkit.parse(read_text(path) or "")
    except TOMLKitError as error:
        raise SettingsError(f"{path}: this is no TOML, so nothing was changed: {error}") from None
    table = document.setdefault(TABLE, tomlkit.table())
    if remove:
        if name not in table:
            raise SettingsError(f"no key is kept for {name}")
        del table[name]
    else:
        key = _typed(name)
        if not key:
            sys.stderr.write("pool config key: nothing was given, so nothing is kept\n")
            return EXIT_NO
        table[name] = key
    write_whole(path, tomlkit.dumps(document))
    print(f"the key for {name} is {'forgotten' if remove else f'kept in {path}'}")
    return 0


def _typed(name: str) -> str:
    """The key, from a terminal without showing it, else the first line of stdin. Raises `SettingsError`."""
    if sys.stdin.isatty():
        import getpass

        text = getpass.getpass(f"API key for {name}: ")
    else:
        text = sys.stdin.readline(MOST_CHARS + 1)
    key = text.strip()
    if len(text) > MOST_CHARS or not key.isprintable() or not key.isascii():
        raise SettingsError("this is no API key: it must be one line of printable ASCII")
    return key
