"""`pool config set`, `unset` and `edit`: changes of a file that keep its comments and its order."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, cast

from pool.cli.config.command import Here
from pool.cli.config.show import check, key_named
from pool.config.describe import toml
from pool.config.files import PROFILES, Source, read_source, read_text
from pool.config.gitexclude import exclude_local
from pool.config.keys import Key
from pool.config.settings import SettingsError
from pool.config.tomldoc import NEW_FILE, table_of
from pool.config.trust import checkout_files, digest
from pool.config.writing import PRIVATE_MODE, SHARED_MODE, changing, write_whole
from pool.headless.plain import one_line


def change(here: Here, target: str, name: str, values: Sequence[str], *, add: bool) -> int:
    """Set a key in a file. Raises `SettingsError`, OSError."""
    where, key = _named(name)
    value = _value(key, values)
    path = file_of(here, target)
    with changing(path):
        document = open_document(path)
        table = table_of(document, where[:-1])
        if add:
            old = cast(Sequence[Any], table.get(where[-1], []))
            value = key.kind.read([*old, *(x for x in cast(Sequence[Any], value) if x not in old)])
        _put(table, where[-1], value, key)
        write_document(here, target, path, document)
    shown = "(hidden)" if key.secret else toml(value, key.kind)
    print(one_line(f"{name} = {shown}  # {path}"))
    return 0


def unset(here: Here, target: str, name: str) -> int:
    """Take a key out of a file. Raises `SettingsError`, OSError."""
    where, _ = _named(name)
    path = file_of(here, target)
    with changing(path):
        document = open_document(path)
        table: Any = document
        for part in where[:-1]:
            table = cast(Mapping[str, Any], table).get(part)
            if not isinstance(table, Mapping):
                break
        if not isinstance(table, MutableMapping) or where[-1] not in table:
            raise SettingsError(f"{name} is not set in {path}")
        del cast(MutableMapping[str, Any], table)[where[-1]]
        write_document(here, target, path, document)
    print(one_line(f"{name} is no longer set in {path}"))
    return 0


def edit(here: Here, target: str) -> int:
    """Open a file in the user's editor, then check it. Raises `SettingsError`, OSError."""
    path = file_of(here, target)
    if not path.exists():
        write_whole(path, NEW_FILE, PRIVATE_MODE if target == "user" else SHARED_MODE)
    if target == "local":
        exclude_local(here.read.store.folder)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise SettingsError(f"the editor {editor!r} cannot be started: {error}; set EDITOR") from None
    if code:
        raise SettingsError(f"the editor {editor!r} ended with {code}")
    return check(Here.at(str(here.workspace)))


def _named(name: str) -> tuple[list[str], Key]:
    """The path of a key in a file, and the key. `profiles.NAME.` before it means that profile."""
    if not name.startswith(f"{PROFILES}."):
        return name.split("."), key_named(name)
    _, profile, rest = (*name.split(".", 2), "", "")[:3]
    if not profile or not rest:
        raise SettingsError(f"{name!r} names no key; write profiles.NAME.KEY, as profiles.big.server.model")
    return [PROFILES, profile, *rest.split(".")], key_named(rest)


def _value(key: Key, texts: Sequence[str]) -> object:
    """The value that words of the command line stand for. Raises `SettingsError`."""
    only = texts[0].strip() if len(texts) == 1 else ""
    try:
        if only.startswith(("[", "{", '"', "'")):
            return key.kind.read(_toml(only))
        if not key.kind.textual:
            return key.kind.read(list(texts))
        if len(texts) > 1:
            raise ValueError(key.kind.words + " (one value)")
        return key.kind.parse(texts[0])
    except ValueError as error:
        shown = "the value given" if key.secret else repr(" ".join(texts)[:60])
        raise SettingsError(f"{key.name} must be {error}, not {shown}") from None


def _toml(text: str) -> object:
    import tomllib

    # A syntax error is a ValueError, and its message says where.
    return tomllib.loads(f"value = {text}")["value"]


def file_of(here: Here, target: str) -> Path:
    """The file of a layer, with links followed. Raises `SettingsError` for one that leads out of its checkout."""
    project, local = checkout_files(here.read.store.folder)
    path = {"user": here.places.user_file, "project": project, "local": local}[target]
    real = Path(os.path.realpath(path))
    if target != "user" and not real.is_relative_to(here.read.store.folder):
        raise SettingsError(f"{path} leads to {real}, outside of {here.read.store.folder}; it is not changed")
    return real


def open_document(path: Path) -> Any:
    """A file for changes that keep its comments; a new one if there is none. Raises `SettingsError`, OSError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(read_text(path) or NEW_FILE)
    except TOMLKitError as error:
        raise SettingsError(f"{path}: this is no TOML, so nothing was changed: {error}") from None


def _put(table: MutableMapping[str, Any], name: str, value: object, key: Key) -> None:
    import tomlkit

    table[name] = tomlkit.value(toml(value, key.kind))


def write_document(here: Here, target: str, path: Path, document: Any) -> None:
    """Write a layer's file. What the user writes into a checkout that he trusts stays trusted. Raises OSError."""
    import tomlkit

    text = tomlkit.dumps(document)
    before = next((s for s in here.read.sources if s.checkout and os.path.realpath(s.path) == str(path)), None)
    was_trusted = before is None or here.read.trusted[before.path]
    mode = path.stat().st_mode & 0o777 if path.exists() else PRIVATE_MODE if target == "user" else SHARED_MODE
    write_whole(path, text, mode)
    if target == "user":
        return
    after = read_source(target, path, checkout=True, workspace=here.workspace)
    if was_trusted and after is not None:
        _keep_trust(here, after)
    if target == "local":
        exclude_local(here.read.store.folder)


def save_user_file(path: Path, document: Any) -> None:
    """Write the user's own file, for him alone: it may hold what MCP servers are given. Raises OSError."""
    import tomlkit

    write_whole(Path(os.path.realpath(path)), tomlkit.dumps(document), PRIVATE_MODE)


def _keep_trust(here: Here, source: Source) -> None:
    store = here.read.store
    if not digest(source):
        return
    try:
        store.trust({source.path.name: digest(source)})
    except OSError as error:
        sys.stderr.write(f"pool config: this cannot be trusted: {error.strerror}\n")
