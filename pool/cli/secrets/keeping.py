"""What `pool secrets` does. No value is ever printed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pool.agent.rules.syntax import RuleError
from pool.agent.secretuse import command_rule
from pool.config.files import Places, project_folder
from pool.config.keyrings import PERSON_SECONDS, Keyring
from pool.config.settings import SettingsError
from pool.config.toolsecrets import MOST_CHARS, NAME, KeptIn, KeptSecret, SecretStore
from pool.headless.configured import folder_of
from pool.headless.plain import safe
from pool_tools.frozen import frozen

EVERYWHERE = "everywhere"


@frozen
class Here:
    """The user's secrets, and where the command works."""

    store: SecretStore
    workspace: Path
    project: str

    @classmethod
    def at(cls, folder: str) -> Here:
        """For a workspace. Raises `SettingsError`."""
        workspace = folder_of(folder)
        store = SecretStore(Places.usual(os.environ).user, Keyring(os.environ, PERSON_SECONDS))
        return cls(store, workspace, os.path.realpath(project_folder(workspace)))

    def find(self, name: str, *, project: bool) -> KeptSecret:
        """The secret of that name, for everywhere or for this project. Raises `SettingsError`."""
        folder = self.project if project else ""
        kept = self.all()
        found = next((one for one in kept if (one.name, one.folder) == (name, folder)), None)
        if found is not None:
            return found
        if not project and any((one.name, one.folder) == (name, self.project) for one in kept):
            raise SettingsError(f"the secret {name} is one of this project alone; add --project")
        known = ", ".join(sorted({one.name for one in kept}))
        raise SettingsError(f"there is no secret {name!r}; there are: {known or 'none'}")

    def all(self) -> Sequence[KeptSecret]:
        """All secrets; what people should know of the file goes to stderr. Raises `SettingsError`."""
        found = self.store.all()
        for warning in self.store.warnings:
            sys.stderr.write(safe(f"pool secrets: {warning}", terminal=True) + "\n")
        self.store.warnings.clear()
        return found


def show(here: Here, *, others: bool, as_json: bool) -> int:
    """List what holds here, or all that there is."""
    kept = here.all() if others else [one for one in here.all() if one in here.store.of(here.workspace)]
    for one in kept if as_json else ():
        row = {
            "name": one.name,
            "variable": one.variable,
            "commands": list(one.commands),
            "folder": one.folder,
            "kept": one.kept.value,
        }
        print(json.dumps(row, ensure_ascii=False))
    if as_json:
        return 0
    if not kept:
        print("no secrets are kept; `pool secrets add NAME` keeps one")
        return 0
    rows = [("secret", "variable", "holds", "value", "commands that get it unasked")]
    rows += [
        (one.name, f"${one.variable}", one.folder or EVERYWHERE, f"in the {one.kept.value}", ", ".join(one.commands))
        for one in kept
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for *cells, last in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        print(safe(f"{line}  {last or 'none: each use is asked about'}", terminal=sys.stdout.isatty()))
    return 0


def add(here: Here, args: argparse.Namespace) -> int:
    """Keep a secret. Raises `SettingsError`, OSError."""
    name, variable = str(args.name), str(args.env or args.name)
    for what, text in (("name", name), ("variable", variable)):
        if not NAME.fullmatch(text):
            raise SettingsError(f"{text!r} is no {what}: letters, digits and _, beginning with no digit, are wanted")
    patterns = tuple(dict.fromkeys(_checked(text) for text in args.patterns))
    before = here.all()
    folder = here.project if args.project else ""
    wanted = KeptSecret(name, variable, patterns, folder)
    kept, why = here.store.add(wanted, _typed(name), in_file=args.file)
    where = "in the keyring" if kept.kept is KeptIn.KEYRING else f"in {here.store.path}, which only you may read"
    if why:
        where += f" ({why})"
    again = any((one.name, one.folder) == (name, folder) for one in before)
    words = f"the secret {name} is {'replaced' if again else 'kept'} {where}; commands get it as ${variable}"
    print(safe(f"{words}; {_unasked(patterns)}", terminal=True))
    return 0


def allow(here: Here, name: str, pattern: str, *, project: bool, take_back: bool) -> int:
    """Let commands have a secret unasked, or not any more. Raises `SettingsError`, OSError."""
    found, text = here.find(name, project=project), _checked(pattern)
    if take_back and text not in found.commands:
        raise SettingsError(f"the secret {name} is not allowed for {text!r}; {_unasked(found.commands)}")
    left = tuple(one for one in found.commands if one != text)
    changed = replace(found, commands=left if take_back else (*left, text))
    here.store.change(found, changed)
    print(safe(f"the secret {name}: {_unasked(changed.commands)}", terminal=True))
    return 0


def remove(here: Here, name: str, *, project: bool) -> int:
    """Forget a secret. Raises `SettingsError`, OSError."""
    left = here.store.remove(here.find(name, project=project))
    print(f"the secret {name} is forgotten")
    if left:
        sys.stderr.write(safe(f"pool secrets: {left}", terminal=True) + "\n")
    return 0


def _unasked(patterns: Sequence[str]) -> str:
    return f"unasked: {', '.join(patterns)}" if patterns else "each use is asked about"


def _checked(text: str) -> str:
    """A pattern as it is kept. Raises `SettingsError`."""
    try:
        return command_rule(text).pattern
    except RuleError as error:
        raise SettingsError(str(error)) from None


def _typed(name: str) -> str:
    """The value: from a terminal without showing it, else all of stdin but the last line end."""
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"value of {name} (not shown): ")
    raw = sys.stdin.buffer.read(MOST_CHARS * 4 + 2)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise SettingsError("the value is no text (UTF-8); a binary one has to be encoded first") from None
    return text.removesuffix("\n").removesuffix("\r")
