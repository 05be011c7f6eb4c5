"""The whole command line as data, read from the parsers of all commands: for completion and the manual page."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from pool.cli.main import COMMANDS, USAGE
from pool_tools.frozen import frozen


class Values(StrEnum):
    """What a value can be, where a shell can offer some."""

    NONE = ""
    FILE = "file"
    FOLDER = "folder"
    SESSION = "session"
    MODEL = "model"
    THEME = "theme"


@frozen
class Option:
    """A flag or, with no names, a positional argument. metavar is "" for a flag that takes no value.

    optional: the value may be left out. repeat: more than one may follow.
    """

    names: tuple[str, ...]
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    values: Values = Values.NONE
    optional: bool = False
    repeat: bool = False


@frozen
class Command:
    """A command by its words below `pool`, none for `pool` itself, with what it takes and the actions below it."""

    words: tuple[str, ...]
    help: str
    description: str
    epilog: str
    options: tuple[Option, ...]
    actions: tuple[Command, ...] = ()

    def walk(self) -> Iterator[Command]:
        """This command and all below it."""
        yield self
        for action in self.actions:
            yield from action.walk()

    @property
    def flags(self) -> tuple[Option, ...]:
        return tuple(option for option in self.options if option.names)

    @property
    def arguments(self) -> tuple[Option, ...]:
        return tuple(option for option in self.options if not option.names)


OTHER_MODULES = {"": ("pool.cli.interactive", "parser"), "sim": ("pool.sim.cli", "build_parser")}
"""Parsers of what is no entry of `COMMANDS`: `pool` itself, and the simulator."""

OWN_FLAGS = (Option(("--version",), "print the version"), Option(("-h", "--help"), "print the help"))

_BY_METAVAR = {"FILE": Values.FILE, "PATH": Values.FILE, "DIR": Values.FOLDER, "ID": Values.SESSION}
_BY_NAME = {
    "--model": Values.MODEL,
    "--theme": Values.THEME,
    "--fork": Values.SESSION,
    "--system": Values.FILE,
    "--append-system": Values.FILE,
    "file": Values.FILE,
    "session": Values.SESSION,
}


def whole() -> Command:
    """`pool` with everything below it. Imports every command's module."""
    root = _command((), _parser_of(""), "")
    texts = summaries()
    below = [_command((name,), _parser_of(name), texts.get(name, "")) for name in (*COMMANDS, "sim")]
    return Command((), root.help, root.description, root.epilog, (*root.options, OWN_FLAGS[0]), tuple(below))


def summaries() -> dict[str, str]:
    """What the help says of each command, in one line."""
    out: dict[str, str] = {}
    for line in USAGE.splitlines():
        words = line.split()
        if line.startswith("  pool ") and len(words) > 2 and words[1] in (*COMMANDS, "sim"):
            text = line.strip().split("  ", 1)[-1] if "  " in line.strip() else line.split('"', 2)[-1]
            out.setdefault(words[1], text.strip())
    return out


def _parser_of(name: str) -> argparse.ArgumentParser:
    module, function = OTHER_MODULES.get(name) or (COMMANDS[name][0], "parser")
    make: Callable[[], argparse.ArgumentParser] = getattr(importlib.import_module(module), function)
    return make()


def _command(words: tuple[str, ...], parser: argparse.ArgumentParser, text: str) -> Command:
    options: list[Option] = []
    actions: list[Command] = []
    for action in _actions(parser):
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage] there is no public name
            actions += _below(words, action)  # pyright: ignore[reportUnknownArgumentType] argparse says no more
        elif action.help != argparse.SUPPRESS:
            options.append(_option(action))
    return Command(
        words, text, " ".join((parser.description or "").split()), parser.epilog or "", tuple(options), tuple(actions)
    )


def _below(words: tuple[str, ...], action: argparse._SubParsersAction[argparse.ArgumentParser]) -> Iterator[Command]:  # pyright: ignore[reportPrivateUsage] as above
    texts = {str(choice.dest): choice.help or "" for choice in action._get_subactions()}  # pyright: ignore[reportPrivateUsage]
    for name, parser in action.choices.items():
        yield _command((*words, name), parser, texts.get(name, ""))


def _actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    return parser._actions  # pyright: ignore[reportPrivateUsage] argparse tells its flags no other way


def _option(action: argparse.Action) -> Option:
    names = tuple(action.option_strings)
    takes = action.nargs != 0
    metavar = (action.metavar if isinstance(action.metavar, str) else "") or action.dest.upper()
    choices = tuple(map(str, action.choices)) if action.choices is not None else ()
    known = next((_BY_NAME[name] for name in (*names, action.dest) if name in _BY_NAME), None)
    text = " ".join((action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%").split())
    return Option(
        names,
        text,
        metavar if takes else "",
        choices,
        known if known is not None else _BY_METAVAR.get(metavar, Values.NONE),
        action.nargs in ("?", "*"),
        action.nargs in ("*", "+"),
    )
