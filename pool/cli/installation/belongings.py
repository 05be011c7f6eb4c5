"""All that Pool keeps on this machine as things to be removed, each with the deed that removes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pool.cli.installation.checkouts import checkouts, left, local_settings
from pool.cli.installation.places import caches_folder, shell_files, units
from pool.cli.installation.trees import counted, remove_tree
from pool.config.credentials import keyring_entries as keys_in_keyring
from pool.config.files import SYSTEM_FILE, Places
from pool.config.gitexclude import excluding, take_out
from pool.config.keyrings import PERSON_SECONDS, SERVICE, Keyring, NoKeyring
from pool.config.settings import SettingsError
from pool.config.toolsecrets import KeptIn, SecretStore
from pool.extend.mcp.logins import keyring_entries as logins_in_keyring
from pool.headless.columns import size
from pool.lab.serve.setup import ServeError
from pool.lab.serve.unit import take_away
from pool_tools.frozen import frozen
from pool_tools.home import homeless_note, stand_in
from pool_tools.private import sweep


@frozen
class Belonging:
    """Something to remove. remove says what went wrong, "" if nothing did."""

    name: str
    what: str
    remove: Callable[[], str]


def belongings(here: Path) -> list[Belonging]:
    """All that there is, in the order in which it can be removed: what names others goes after them."""
    places, folders = Places.usual(os.environ), checkouts(here)
    found = [_entry(name) for name in entries_in_keyring(places)]
    found += [
        Belonging("unit", f"{path}: stopped and switched off", partial(_unit, path)) for path in units(os.environ)
    ]
    found += [Belonging("shell", str(path), partial(remove_tree, path)) for path in shell_files(os.environ)]
    found += [Belonging("local", str(path), partial(_local, path)) for path in local_settings(folders)]
    excludes = dict.fromkeys(file for folder in folders if (file := excluding(folder)))
    found += [Belonging("git", f"Pool's line in {file}", partial(_line, file)) for file in excludes]
    trees = [("caches", caches_folder()), ("state", places.state), ("configuration", places.user)]
    if homeless_note() and (temporary := stand_in()):
        trees.append(("home", temporary))
    return [*found, *(_tree(name, path) for name, path in trees if os.path.lexists(path))]


def entries_in_keyring(places: Places) -> list[str]:
    """What the keyring calls Pool's entries, by the files that list them."""
    found: list[str] = []
    for read in (
        lambda: keys_in_keyring(places.credentials, []),
        lambda: [s.entry for s in SecretStore(places.user, Keyring({})).all() if s.kept is KeptIn.KEYRING],
        lambda: logins_in_keyring(places.user),
    ):
        try:
            found += read()
        except SettingsError:
            # It is said by `unreadable`; what cannot be read goes with its folder.
            continue
    return found


def stays(here: Path) -> Iterator[str]:
    """What is not removed, for people: it is not Pool's alone, or cannot be found from here."""
    if SYSTEM_FILE.exists():
        yield f"{SYSTEM_FILE}: settings for everybody on this machine"
    places = Places.usual(os.environ)
    for path in (places.user, places.state, caches_folder()):
        if path.is_symlink():
            yield f"{path.resolve()}: only the link to it is removed, {path}"
    yield from left(checkouts(here))
    yield "completion for zsh in a folder of FPATH that is not exported: a file _pool"
    yield "lines that you wrote yourself: in shell start-up files, git hooks and aliases, editors (pool acp)"
    yield f"entries of {SERVICE} in the keyring that no file of Pool lists any more"
    yield "weights of models, and images of containers that pool serve had fetched"


def unreadable() -> Iterator[str]:
    """Files whose entries in the keyring cannot be told."""
    places = Places.usual(os.environ)
    for read in (lambda: keys_in_keyring(places.credentials, []), SecretStore(places.user, Keyring({})).all):
        try:
            read()
        except SettingsError as error:
            yield f"what it has in the keyring is unknown: {error}"


def _entry(name: str) -> Belonging:
    def remove() -> str:
        try:
            Keyring(os.environ, PERSON_SECONDS).remove(name)
        except NoKeyring as error:
            return f"{name} may still be in the keyring ({SERVICE}): {error}"
        return ""

    return Belonging("keyring", f"{name} of {SERVICE}", remove)


def _unit(path: Path) -> str:
    try:
        return take_away(path)
    except ServeError as error:
        return str(error)


def _local(path: Path) -> str:
    problem = remove_tree(path)
    if not problem and not any(path.parent.iterdir()):
        path.parent.rmdir()
    return problem


def _line(file: Path) -> str:
    try:
        take_out(file)
    except OSError as error:
        return f"{file}: {error.strerror or error}"
    return ""


def _tree(name: str, path: Path) -> Belonging:
    if path.is_symlink():
        return Belonging(name, f"{path} (a link)", partial(remove_tree, path))
    files, total = counted(path)
    return Belonging(name, f"{path} ({files:,} files, {size(total)})", partial(remove_tree, path))


def remove_leftovers() -> None:
    """What processes that were killed left among the temporary files."""
    sweep()
