"""Which custom commands there are for a workspace: those of the checkout after trust, then the user's own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from pool.config.files import Places
from pool.extend.customcommands.command import ENDING, CommandFault, CustomCommand, read_command
from pool.extend.places import Fault, Place, Trusted, folders, names_in
from pool_tools.frozen import frozen

COMMANDS = "commands"
MOST_COMMANDS = 100
"""So many commands of one folder are looked at, by their names."""

MOST_ENTRIES = 5_000


@frozen
class FoundCommands:
    """commands can be used, one of a name; waiting are a checkout's that need trust."""

    commands: tuple[CustomCommand, ...] = ()
    waiting: tuple[CustomCommand, ...] = ()
    faults: tuple[Fault, ...] = ()

    def named(self, name: str) -> CustomCommand | None:
        """A command that can be used, by its name."""
        return next((command for command in self.commands if command.name == name), None)


def find_commands(workspace: Path, places: Places, taken: Collection[str] = ()) -> FoundCommands:
    """Look for all custom commands. taken are names of Pool's own. Reads files; never raises for what they hold."""
    trusted = Trusted(workspace, places)
    used: dict[str, CustomCommand] = {}
    waiting: list[CustomCommand] = []
    faults: list[Fault] = []
    for place in folders(workspace, places, COMMANDS):
        for command in _of(place, faults):
            if command.name in taken:
                faults.append(Fault(command.place, f"/{command.name} is a command of Pool's own; rename the file"))
            elif command.checkout and not trusted.holds(command.place, command.digest):
                waiting.append(command)
            elif command.name in used:
                faults.append(Fault(command.place, f"{used[command.name].place} has a command of that name"))
            else:
                used[command.name] = command
    return FoundCommands(tuple(used.values()), tuple(waiting), tuple(faults))


def _of(place: Place, faults: list[Fault]) -> Iterator[CustomCommand]:
    for name, where in names_in(place, COMMANDS, MOST_COMMANDS, _names, faults):
        try:
            command = read_command(place.path, name, where)
        except CommandFault as fault:
            faults.append(Fault(where, str(fault)))
            continue
        yield replace(command, checkout=True, digest=_digest(command)) if place.checkout else command


def _digest(command: CustomCommand) -> str:
    text = "\0".join((command.name, command.description, command.hint, command.body))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _names(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        some = [entry for entry, _ in zip(entries, range(MOST_ENTRIES), strict=False)]
    return sorted(e.name for e in some if e.name.endswith(ENDING) and not e.name.startswith(".") and not e.is_dir())
