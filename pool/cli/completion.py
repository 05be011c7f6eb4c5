"""`pool completion`: scripts that complete commands, flags and values in bash, zsh and fish.

A script holds commands, flags and choices as they are in this version; sessions, models and themes are asked for by
`pool completion --values KIND` when they are wanted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pool.cli.cmdline import Values

SHELLS = ("bash", "zsh", "fish")
DYNAMIC = (Values.SESSION, Values.MODEL, Values.THEME)
MOST_SESSIONS = 50
EPILOG = """\
bash:  pool completion bash > ~/.local/share/bash-completion/completions/pool
zsh:   pool completion zsh > "${fpath[1]}/_pool", and compinit after that
fish:  pool completion fish > ~/.config/fish/completions/pool.fish
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool completion`."""
    p = argparse.ArgumentParser(
        prog="pool completion",
        description="Print a script that completes commands, flags, sessions, models and themes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("shell", nargs="?", choices=SHELLS, help="the shell to print a script for")
    p.add_argument("--values", choices=[kind.value for kind in DYNAMIC], help="print what such a value can be now")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool completion`; returns the exit code."""
    p = parser()
    try:
        args = p.parse_args(list(argv))
        if bool(args.shell) is bool(args.values):
            p.error("name one of bash, zsh, fish, or --values")
    except SystemExit as error:
        return int(error.code or 0)
    if args.values:
        for value, text in values(Values(args.values)):
            print(f"{value}\t{text}" if text else value)
        return 0
    from pool.cli.cmdline import whole
    from pool.cli.shellscripts import bash, fish, zsh

    make = {"bash": bash, "zsh": zsh, "fish": fish}[args.shell]
    sys.stdout.write(make(whole()))
    return 0


def values(kind: Values) -> list[tuple[str, str]]:
    """What a value can be, each with a word about it. Nothing is asked of any server."""
    match kind:
        case Values.SESSION:
            from pool.headless.columns import cut
            from pool.sessions.store import listed, sessions_folder, short_id

            here = str(Path.cwd())
            found = sorted(listed(sessions_folder()), key=lambda one: one.workspace != here)
            return [(short_id(one.id), cut(one.prompt, 60)) for one in found[:MOST_SESSIONS]]
        case Values.THEME:
            from pool.cli.themes import own_themes
            from pool_themes import names

            return [(name, "") for name in names(own_themes())]
        case Values.MODEL:
            return [(name, "") for name in _models()]
        case _:
            return []


def _models() -> list[str]:
    """The configured model, and those of the last sessions."""
    from pool.config.load import load_settings
    from pool.config.modelchoice import profile_servers
    from pool.config.settings import SettingsError
    from pool.sessions.index import SessionIndex
    from pool.sessions.store import sessions_folder

    found: dict[str, None] = {}
    try:
        configured = load_settings(Path.cwd(), os.environ, with_key=False).settings.model
        found |= dict.fromkeys([configured] if configured else [])
        profiles = profile_servers(Path.cwd(), os.environ)
        found |= dict.fromkeys(f"{one.name}:{one.model}" for one in profiles if one.base_url or one.model)
    except SettingsError:
        pass
    with SessionIndex(sessions_folder(), lambda text: None) as index:
        found |= dict.fromkeys(entry.model for entry in index.entries(limit=MOST_SESSIONS) if entry.model)
    return [name for name in found if name.isprintable()]
