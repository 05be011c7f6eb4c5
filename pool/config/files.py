"""The files of the configuration: where they lie, and what is read from each, with the faults that were found."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pool.config.keys import Key, keys, tables
from pool_tools.frozen import frozen
from pool_tools.home import home

SYSTEM_FILE = Path("/etc/pool/config.toml")
FOLDER = ".pool"
PROJECT_FILE = "config.toml"
LOCAL_FILE = "config.local.toml"
MOST_BYTES = 256 * 1024
"""Largest file that is read: nobody writes such a configuration by hand."""

MOST_WARNINGS = 20
"""So many unknown keys of a file are named."""

PROFILES = "profiles"
LOCKED = "locked"

_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")


@frozen
class Origin:
    """Where a value comes from: a layer, and the file (with line, 0 if unknown), variable or flag that gave it."""

    layer: str
    place: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.place}:{self.line}" if self.line else self.place
        return f"{self.layer}: {place}" if place else self.layer


BUILT_IN = Origin("built-in")


@frozen
class Places:
    """Where configuration and state lie. user and state are Pool's own folders."""

    system: Path
    user: Path
    state: Path

    @property
    def user_file(self) -> Path:
        """The user's own configuration."""
        return self.user / "config.toml"

    @property
    def credentials(self) -> Path:
        """The user's API keys."""
        return self.user / "credentials.toml"

    @classmethod
    def usual(cls, env: Mapping[str, str]) -> Places:
        """The platform's folders; XDG_CONFIG_HOME and XDG_STATE_HOME count everywhere."""
        return cls(SYSTEM_FILE, _folder(env, "XDG_CONFIG_HOME"), _folder(env, "XDG_STATE_HOME"))


def _folder(env: Mapping[str, str], variable: str) -> Path:
    given = env.get(variable, "")
    if given.startswith("/"):
        return Path(given) / "pool"
    if variable == "XDG_CONFIG_HOME":
        return home() / ".config" / "pool"
    if sys.platform == "linux":
        # What platformdirs says too; importing it takes 3 ms of each start.
        return home() / ".local" / "state" / "pool"
    import platformdirs

    return platformdirs.user_state_path("pool", appauthor=False)


def project_folder(workspace: Path) -> Path:
    """The folder whose `.pool` counts for a workspace: the nearest that has one, up to the root of its repository."""
    within: list[Path] = []
    for folder in (workspace, *workspace.parents):
        within.append(folder)
        if (folder / ".git").exists():
            return next((one for one in within if (one / FOLDER).is_dir()), workspace)
    return workspace


@dataclass(slots=True)
class Source:
    """A file that was read. values and those of profiles and locked are by key name; faults are full sentences.

    errors end a run, warnings do not. checkout: the file came with the workspace, so it needs trust. workspace is where
    commands that it names start, None where that is not known.
    """

    layer: str
    path: Path
    text: str = ""
    checkout: bool = False
    workspace: Path | None = None
    values: dict[str, object] = field(default_factory=dict[str, object])
    profiles: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    locked: dict[str, object] = field(default_factory=dict[str, object])
    warnings: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])

    def origin(self, name: str) -> Origin:
        """Where in the file a key is set."""
        from pool.config.lines import line_of

        return Origin(self.layer, str(self.path), line_of(self.text, name))

    def at(self, name: str) -> str:
        """The place of a key as `FILE:LINE`."""
        found = self.origin(name)
        return f"{self.path}:{found.line}" if found.line else str(self.path)


def read_source(layer: str, path: Path, *, checkout: bool = False, workspace: Path | None = None) -> Source | None:
    """Read one file; None if there is none. Faults are in the result."""
    source = Source(layer, path, checkout=checkout, workspace=workspace)
    try:
        text = read_text(path)
    except OSError as error:
        source.errors.append(f"{path}: it cannot be read: {error.strerror or error}")
        return source
    if text is None:
        return None
    source.text = text
    import tomllib

    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = found[1] if (found := _AT_LINE.search(str(error))) else ""
        where = f":{line or text.count(chr(10)) + 1}"
        source.errors.append(f"{path}{where}: this is no TOML: {_AT_LINE.sub('', str(error))}")
        return source
    _sort(source, table)
    return source


def read_text(path: Path) -> str | None:
    """A regular file's text, None if there is none. A byte order mark is dropped. Raises OSError, also for no UTF-8."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "it is no regular file", str(path))
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(0, f"it is larger than {MOST_BYTES:,} bytes", str(path))
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise OSError(0, f"it is no UTF-8 (byte {error.start})", str(path)) from None


def _sort(source: Source, table: dict[str, Any]) -> None:
    """Take a file's table apart into values, profiles and locks."""
    profiles, locked = table.pop(PROFILES, {}), table.pop(LOCKED, {})
    source.values = dict(_values(source, table, ""))
    if not isinstance(profiles, dict):
        source.errors.append(f"{source.at(PROFILES)}: profiles must be a table, as [profiles.NAME]")
        profiles = {}
    for name, one in cast(dict[str, object], profiles).items():
        if not isinstance(one, dict):
            source.errors.append(f"{source.at(f'{PROFILES}.{name}')}: profiles.{name} must be a table")
            continue
        source.profiles[name] = dict(_values(source, cast(dict[str, Any], one), f"{PROFILES}.{name}."))
        if source.profiles[name].pop("profile", ""):
            where = f"{PROFILES}.{name}.profile"
            source.warnings.append(f"{source.at(where)}: a profile cannot name another one; {where} is ignored")
    if not isinstance(locked, dict):
        source.errors.append(f"{source.at(LOCKED)}: locked must be a table of keys and their widest values")
    elif source.path != SYSTEM_FILE and source.layer != "system" and locked:
        source.warnings.append(f"{source.at(LOCKED)}: [locked] counts only in {SYSTEM_FILE}; it is ignored here")
    else:
        source.locked = dict(_values(source, cast(dict[str, Any], locked), f"{LOCKED}."))


def _values(source: Source, table: Mapping[str, Any], lead: str, prefix: str = "") -> Iterator[tuple[str, object]]:
    """The values of known keys in a table; faults are noted. lead is what comes before the keys' names in the file."""
    for part, value in table.items():
        name = f"{prefix}{part}"
        key = keys().get(name)
        if key is not None:
            found = _value(source, key, value, lead)
            if found is not None:
                yield name, found[0]
        elif name in tables():
            if isinstance(value, Mapping):
                yield from _values(source, cast(Mapping[str, Any], value), lead, f"{name}.")
            else:
                source.errors.append(f"{source.at(lead + name)}: {lead}{name} must be a table, as [{lead}{name}]")
        elif len(source.warnings) >= MOST_WARNINGS:
            source.warnings[MOST_WARNINGS:] = [f"{source.path}: there are more keys that Pool does not know"]
        else:
            place = source.at(lead + name)
            source.warnings.append(f"{place}: there is no key {_quoted(lead + name)}, so it is ignored{nearest(name)}")


def _value(source: Source, key: Key, value: object, lead: str) -> tuple[object] | None:
    try:
        return (key.kind.read(value),)
    except ValueError as error:
        shown = "the value given" if key.secret else _shown(value)
        source.errors.append(f"{source.at(lead + key.name)}: {lead}{key.name} must be {error}, not {shown}")
        return None


def nearest(name: str) -> str:
    """Which key was probably meant, as the end of a sentence; "" if none is near."""
    import difflib

    leaf = name.rpartition(".")[2]
    same = [known for known in keys() if known.rpartition(".")[2] == leaf]
    near = same[:1] or difflib.get_close_matches(name, [*keys(), *filter(None, tables())], n=1, cutoff=0.8)
    if not near:
        leaves = {known.rpartition(".")[2]: known for known in reversed(list(keys()))}
        near = [leaves[x] for x in difflib.get_close_matches(leaf, list(leaves), n=2, cutoff=0.7)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def printable(text: str) -> str:
    """A line of text with everything that is not printable as an escape: names and values come from files."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _quoted(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[:most] + "...")


def _shown(value: object) -> str:
    match value:
        case str():
            return _quoted(value)
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return str(value)
