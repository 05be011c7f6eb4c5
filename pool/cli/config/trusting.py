"""`pool config trust`: what a checkout's files would allow, shown, and the user's answer kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import cast

from pool.cli.actions import EXIT_USAGE
from pool.cli.config.command import EXIT_NO, Here
from pool.cli.config.show import without_password
from pool.cli.skills.waiting import waiting as waiting_extensions
from pool.config.describe import HIDDEN, toml
from pool.config.files import Source
from pool.config.keys import keys
from pool.config.load import load_settings
from pool.config.settings import SettingsError
from pool.config.trust import Asked, asked_by, beside, digest, scripts_of
from pool.headless.plain import safe

FILES_NAMED = 10


def trust(here: Here, *, yes: bool) -> int:
    """Show what waits for trust and ask; with yes, only show."""
    store = here.read.store
    if not store.usable:
        raise SettingsError(f"Pool's state folder lies in {store.folder}, where commands could change it; trust is off")
    waiting = [s for s in here.read.sources if s.checkout and not here.read.trusted[s.path]]
    faults = [fault for source in waiting for fault in source.errors]
    if faults:
        raise SettingsError("\n".join(faults))
    more = waiting_extensions(here.workspace, here.places)
    if not waiting and not more.hashes:
        print("nothing waits for trust")
        return 0
    # Before the question, so that the answer holds for what was shown.
    hashes = {**more.hashes, **{source.path.name: digest(source) for source in waiting}}
    loaded = load_settings(here.workspace, os.environ, places=here.places, with_key=False)
    for source in waiting:
        for line in _shown(source, loaded.ignored.get(source.path, ())):
            print(safe(line, terminal=sys.stdout.isatty()))
    for line in more.lines:
        print(safe(line, terminal=sys.stdout.isatty()))
    if not yes and not _agreed():
        return EXIT_USAGE if not sys.stdin.isatty() else EXIT_NO
    store.trust(hashes)
    print("trusted; a change of this asks again (`pool config untrust` takes it back)")
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        sys.stderr.write("pool config trust: nobody is there to ask; --yes trusts what is shown above\n")
        return False
    try:
        return input("Trust this? [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        return False


def _shown(source: Source, widening: tuple[str, ...]) -> Iterator[str]:
    yield f"{source.path} sets:"
    for one in asked_by(source):
        key = keys()[one.key]
        yield from _lines(one)
        if one.name in widening or one.name.startswith("profiles."):
            yield f"      {key.danger or 'it allows more than you do'}"
        else:
            yield "      no more than you allow now"
        if found := scripts_of(source, one):
            named = ", ".join([*found][:FILES_NAMED]) + (", …" if len(found) > FILES_NAMED else "")
            yield f"      files of this checkout that it names: {named}; read them first"
        if key.path:
            yield f"      the file is {beside(source, str(one.value))}; read it first"


def _lines(one: Asked) -> Iterator[str]:
    """A value as TOML: in one line, or a line for each table in it, so that each command stands by itself."""
    value = _value(one)
    parts = cast(dict[str, object], value) if isinstance(value, dict) else {}
    if not parts:
        yield f"  {one.name} = {toml(_value(one), keys()[one.key].kind)}"
    yield from (f"  {one.name}.{name} = {toml(part)}" for name, part in parts.items())


def _value(one: Asked) -> object:
    if one.key == "server.base_url":
        return without_password(str(one.value))
    if not keys()[one.key].secret or one.key == "mcp_servers":
        return one.value
    value = one.value
    if not isinstance(value, tuple):
        return HIDDEN
    # Which variables of the user's would be sent is what he has to know.
    pairs = cast(tuple[tuple[str, str], ...], value)
    return tuple((name, text if "${" in text else HIDDEN) for name, text in pairs)


def untrust(here: Here) -> int:
    """Take trust back."""
    print("trust is taken back" if here.read.store.forget() else "nothing was trusted")
    return 0
