"""What commands with actions of their own (`pool config set`, `pool mcp add`) share: their flags, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from pool.config.settings import SettingsError
from pool.headless.plain import safe

EXIT_USAGE = 2


class Actions(Protocol):
    """What `add_subparsers` gives; its class has no public name."""

    def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser:
        """Add an action."""
        ...


def add_action(actions: Actions, name: str, text: str) -> argparse.ArgumentParser:
    """Add an action on a workspace; text is its help, and with a capital letter its description."""
    p = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="workspace folder (default: this one)")
    return p


def add_targets(p: argparse.ArgumentParser) -> None:
    """Flags for the configuration file that is changed."""
    where = p.add_mutually_exclusive_group()
    where.add_argument("--user", dest="target", action="store_const", const="user", help="your own file (default)")
    where.add_argument("--project", dest="target", action="store_const", const="project", help=".pool/config.toml")
    where.add_argument("--local", dest="target", action="store_const", const="local", help=".pool/config.local.toml")
    p.set_defaults(target="user")


def run_action(
    p: argparse.ArgumentParser, argv: Sequence[str], usual: str, dispatch: Callable[[argparse.Namespace], int]
) -> int:
    """Parse the words and do the action, usual if none is named; returns the exit code."""
    words = list(argv)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        words.insert(0, usual)
    try:
        args = p.parse_args(words)
    except SystemExit as error:
        return int(error.code or 0)
    try:
        return dispatch(args)
    except SettingsError as error:
        sys.stderr.write(safe(f"{p.prog}: {error}", terminal=True) + "\n")
    except BrokenPipeError:
        # Who read the output has gone, which is for the entry point to end quietly.
        raise
    except OSError as error:
        name = f": {error.filename}" if error.filename else ""
        sys.stderr.write(safe(f"{p.prog}: {error.strerror or error}{name}", terminal=True) + "\n")
    return EXIT_USAGE
