"""`pool config show`, `get`, `path` and `check`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import cast

from pool.agent.configured import rule_faults
from pool.cli.config.command import Here
from pool.config.credentials import find_kept
from pool.config.describe import HIDDEN, toml
from pool.config.files import Origin, nearest
from pool.config.keys import Key, keys, tables
from pool.config.load import LoadedSettings, load_settings
from pool.config.merge import defaults
from pool.config.secrets import warn_of_secrets
from pool.config.settings import SettingsError
from pool.config.trust import checkout_files
from pool.headless.configured import tell
from pool.headless.plain import safe
from pool.wire.endpoint import EndpointError, parse_endpoint
from pool_tools.home import home as users_home

VALUE_CHARS = 40
"""Where the column of origins begins, if the value leaves room for it."""

EXIT_FAULT = 2


def show(here: Here, *, profile: str, changed: bool, as_json: bool) -> int:
    """Print every value and where it comes from."""
    loaded = _loaded(here, profile)
    origins = loaded.origins
    some = [k for k in keys().values() if not changed or str(origins[k.name]) != "built-in"]
    if as_json:
        rows = {k.name: {"value": _plain(loaded, k), "origin": _as_row(origins[k.name])} for k in some}
        print(json.dumps(rows, indent=2, default=str))
    else:
        for line in _lines(here, loaded, some):
            print(safe(line, terminal=sys.stdout.isatty()))
    tell(loaded.warnings, "pool config")
    return 0


def _loaded(here: Here, profile: str = "") -> LoadedSettings:
    return load_settings(here.workspace, os.environ, profile=profile, places=here.places, with_key=False)


def _lines(here: Here, loaded: LoadedSettings, some: list[Key]) -> Iterator[str]:
    origins = {**loaded.origins, **_kept(here, loaded)}
    for table in tables():
        within = [key for key in some if key.table == table]
        if not within:
            continue
        if table:
            yield ""
            yield f"[{table}]"
        for key in within:
            origin = origins[key.name]
            set_somewhere = str(origin) != "built-in"
            line = f"{key.name.rpartition('.')[2]} = {_shown(loaded, key, known=set_somewhere)}"
            if loaded.values[key.name] is None and key.make:
                line = f"# {key.name.rpartition('.')[2]} is not set"
            yield f"{line:<{VALUE_CHARS}}  # {short(origin)}" if set_somewhere else line


def _kept(here: Here, loaded: LoadedSettings) -> dict[str, Origin]:
    """Where the API key comes from if it is a kept one."""
    if any(str(loaded.origin(f"server.api_key{end}")) != "built-in" for end in ("", "_env", "_command")):
        return {}
    found = find_kept(here.places.credentials, str(loaded.values["server.base_url"]), [])
    if found is None:
        return {}
    return {"server.api_key": Origin("kept", str(here.places.credentials) if found.value else "keyring")}


def short(origin: Origin) -> str:
    """An origin with the home folder as `~`."""
    home = str(users_home())
    place = origin.place
    place = "~" + place[len(home) :] if place.startswith(home + os.sep) else place
    return str(Origin(origin.layer, place, origin.line))


def _shown(loaded: LoadedSettings, key: Key, *, known: bool) -> str:
    hidden = key.secret and known and not isinstance(loaded.values[key.name], dict)
    return toml(HIDDEN if hidden else _plain(loaded, key), key.kind)


def _plain(loaded: LoadedSettings, key: Key) -> object:
    """A value that may be shown: of secret ones, only whether they are set."""
    value = loaded.values[key.name]
    if isinstance(value, dict):
        return dict.fromkeys(map(str, cast(dict[str, object], value)), HIDDEN)
    if key.secret and value != defaults()[key.name]:
        return HIDDEN
    return without_password(str(value)) if key.name == "server.base_url" and value else value


def without_password(url: str) -> str:
    """A server's address without what is secret in it."""
    try:
        return parse_endpoint(url).display if "@" in url or "?" in url else url
    except EndpointError:
        return HIDDEN


def _as_row(origin: Origin) -> dict[str, object]:
    return {"layer": origin.layer, "place": origin.place, "line": origin.line}


def get(here: Here, name: str, profile: str) -> int:
    """Print one value: text as it is, anything else as TOML."""
    key = key_named(name)
    loaded = _loaded(here, profile)
    value = _plain(loaded, key)
    text = value if isinstance(value, str) else "" if value is None and key.make else toml(value, key.kind)
    print(safe(text, terminal=sys.stdout.isatty()))
    return 0


def key_named(name: str) -> Key:
    """A key by its name. Raises `SettingsError` with the nearest one."""
    key = keys().get(name)
    if key is None and (within := [known for known in keys() if known.startswith(f"{name}.")]):
        raise SettingsError(f"{name!r} is a table of keys; name one of them: {', '.join(within)}")
    if key is None:
        raise SettingsError(f"there is no key {name!r}{nearest(name) or '; `pool config` lists them'}")
    return key


def paths(here: Here) -> int:
    """Print the files, and which of them there are."""
    project, local = checkout_files(here.read.store.folder)
    rows = (
        ("system", here.places.system),
        ("user", here.places.user_file),
        ("keys", here.places.credentials),
        ("project", project),
        ("local", local),
        ("trust", here.read.store.path),
    )
    for layer, path in rows:
        state = "" if path.exists() else "  (not there)"
        # A checkout is the same by its real path, under which trust is kept, and by the one given.
        trusted = next(
            (ok for p, ok in here.read.trusted.items() if os.path.realpath(p) == os.path.realpath(path)), True
        )
        print(safe(f"{layer:<8} {path}{state}{'' if trusted else '  (not trusted)'}", terminal=sys.stdout.isatty()))
    return 0


def check(here: Here) -> int:
    """Print what is wrong with the files; exit code 2 for faults that would end a run."""
    faults = [fault for source in here.read.sources for fault in source.errors]
    warnings = [warning for source in here.read.sources for warning in source.warnings]
    if not faults:
        try:
            loaded = _loaded(here)
            faults, warnings = rule_faults(loaded), list(loaded.warnings)
            warn_of_secrets(loaded.merge, warnings)
        except SettingsError as error:
            faults = str(error).split("\n")
    for kind, lines in (("error", faults), ("warning", warnings)):
        for line in lines:
            print(safe(f"{kind}: {line}", terminal=sys.stdout.isatty()))
    if not faults and not warnings:
        count = len(here.read.sources)
        print(f"{count} file{'' if count == 1 else 's'} read, nothing wrong")
    return EXIT_FAULT if faults else 0
