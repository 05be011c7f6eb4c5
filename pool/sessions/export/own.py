"""What is this user's own, and is taken out of everything that is given to others: keys, the home folder, the name."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from pool.config.files import Places
from pool.sessions.export.redact import Redactor
from pool_tools.home import home

_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


def own_redactor(env: Mapping[str, str], workspace: str) -> Redactor:
    """A redactor that knows this user's keys, home folder and name."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = ""
    own = home()
    homes = {str(own), os.path.realpath(own)} - {"/"}
    names = {name, *(Path(h).name for h in homes)}
    parts = Path(workspace).parts
    if len(parts) > 2 and parts[1] in ("home", "Users"):
        names.add(parts[2])
    return Redactor([*_keys_in(env), *_kept_keys(Places.usual(env))], homes, names - {""})


def _keys_in(env: Mapping[str, str]) -> Iterator[str]:
    """Values of variables that are named like a secret; one that is a path or switch is none."""
    for name, value in env.items():
        if any(word in name.upper() for word in _SECRET_WORDS) and len(value) >= 8 and not value.startswith(("/", "~")):
            yield value


def _kept_keys(places: Places) -> Iterator[str]:
    """Keys in Pool's own files, wherever they stand there. No command is run to get one."""
    import tomllib

    for path in (places.credentials, places.user_file, places.system):
        try:
            yield from _texts(tomllib.loads(path.read_text(encoding="utf-8")), secret=path == places.credentials)
        except (OSError, ValueError):
            continue


def _texts(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, str) and secret:
        yield value
    elif isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            named = any(word in key.upper() for word in (*_SECRET_WORDS, "AUTHORIZATION", "HEADERS"))
            yield from _texts(item, secret=secret or (named and not key.endswith(("_env", "_command"))))
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _texts(item, secret=secret)
