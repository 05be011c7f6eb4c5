"""The command line of `pool config`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from pool.cli.actions import add_action, add_targets, run_action
from pool.config.files import Places
from pool.config.load import Read, read_files
from pool.headless.configured import folder_of
from pool_tools.frozen import frozen

EXIT_NO = 1
"""The user was asked and said no."""

DESCRIPTION = """\
The configuration: built-in values, then /etc/pool/config.toml, the user's file, the
project's .pool/config.toml, .pool/config.local.toml, the environment and flags.
"""


@frozen
class Here:
    """What a command works on: the workspace, where things lie, and the files that there are."""

    workspace: Path
    places: Places
    read: Read

    @classmethod
    def at(cls, folder: str) -> Here:
        """Look at a workspace. Raises `SettingsError`."""
        workspace = folder_of(folder)
        places = Places.usual(os.environ)
        return cls(workspace, places, read_files(workspace, places))


def parser() -> argparse.ArgumentParser:
    """The flags of `pool config`."""
    p = argparse.ArgumentParser(
        prog="pool config",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 done, 1 the answer was no, 2 a fault or a wrong use. See docs/configuration.md.",
    )
    sub = p.add_subparsers(dest="action", metavar="ACTION")
    show = add_action(sub, "show", "every value and where it comes from (also without any action)")
    show.add_argument("--changed", action="store_true", help="only what somebody set")
    show.add_argument("--json", action="store_true", help="one JSON object")
    show.add_argument("--profile", metavar="NAME", default="", help="with this profile")
    get = add_action(sub, "get", "one value")
    get.add_argument("key")
    get.add_argument("--profile", metavar="NAME", default="", help="with this profile")
    change = add_action(sub, "set", "set a value; comments stay")
    change.add_argument("key", help="as budgets.turns, or profiles.NAME.budgets.turns")
    change.add_argument("value", nargs="+", help="a value, or several for a list; TOML is understood too")
    change.add_argument("--add", action="store_true", help="add to the list that is there")
    unset = add_action(sub, "unset", "take a value out of a file")
    unset.add_argument("key")
    edit = add_action(sub, "edit", "open a file in your editor, then check it")
    for one in (change, unset, edit):
        add_targets(one)
    add_action(sub, "check", "read all files and say what is wrong")
    add_action(sub, "path", "the files, and which of them there are")
    add_action(sub, "schema", "the JSON Schema of a file, for editors")
    reference = add_action(sub, "reference", "all keys as Markdown")
    reference.add_argument("--into", metavar="FILE", help="put it between the marks in this file")
    trust = add_action(sub, "trust", "show what the checkout's files would allow, and ask")
    trust.add_argument("--yes", action="store_true", help="do not ask")
    add_action(sub, "untrust", "take that back")
    key = add_action(sub, "key", "keep an API key, read from stdin, in the keyring, else in a file of yours")
    key.add_argument("server", nargs="?", default="", help="as host:8000, or default; else the configured server")
    key.add_argument("--file", action="store_true", help="keep it in the file, though there is a keyring")
    instead = key.add_mutually_exclusive_group()
    instead.add_argument("--remove", action="store_true", help="forget it")
    instead.add_argument("--move", action="store_true", help="take the key that stands in a configuration file")
    taken = add_action(sub, "import", "show what another agent's configuration holds; --yes copies it")
    taken.add_argument("agent", choices=["poolside", "claude", "codex", "opencode"])
    taken.add_argument("--yes", action="store_true", help="copy it into your own file")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool config`; returns the exit code."""
    return run_action(parser(), argv, "show", _dispatch)


def _dispatch(args: argparse.Namespace) -> int:
    match args.action:
        case "schema" | "reference":
            from pool.cli.config.papers import show_reference, show_schema

            return show_schema() if args.action == "schema" else show_reference(args.into)
        case "show" | "get" | "path" | "check":
            from pool.cli.config.show import check, get, paths, show

            here = Here.at(args.dir)
            match args.action:
                case "show":
                    return show(here, profile=args.profile, changed=args.changed, as_json=args.json)
                case "get":
                    return get(here, args.key, args.profile)
                case "path":
                    return paths(here)
                case _:
                    return check(here)
        case "trust" | "untrust":
            from pool.cli.config.trusting import trust, untrust

            here = Here.at(args.dir)
            return trust(here, yes=args.yes) if args.action == "trust" else untrust(here)
        case "key":
            from pool.cli.config import keeping

            here = Here.at(args.dir)
            if args.remove:
                return keeping.forget_key(here, args.server)
            if args.move:
                return keeping.move_key(here, args.server, in_file=args.file)
            return keeping.keep_key(here, args.server, in_file=args.file)
        case "import":
            from pool.cli.config.importing.command import import_from

            return import_from(Here.at(args.dir), args.agent, yes=args.yes)
        case _:
            from pool.cli.config.change import change, edit, unset

            here = Here.at(args.dir)
            match args.action:
                case "set":
                    return change(here, args.target, args.key, args.value, add=args.add)
                case "unset":
                    return unset(here, args.target, args.key)
                case _:
                    return edit(here, args.target)
