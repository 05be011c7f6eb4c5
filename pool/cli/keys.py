"""The command line of `pool keys`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pool.config.load import load_settings
from pool.config.settings import SettingsError
from pool.headless.plain import safe

EXIT_USAGE = 2

DESCRIPTION = """\
Shows what this terminal sends for each key that you press, how Pool calls the key, and what it does there.
[keys] in the configuration gives actions other keys.
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool keys`."""
    p = argparse.ArgumentParser(
        prog="pool keys", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--list", action="store_true", help="print the actions and their keys, and end")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool keys`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    from pool.tui.keys import RemapError, bound, listed

    try:
        ui = load_settings(Path.cwd(), os.environ, interactive=True, with_key=False).settings.ui
        keys = bound(ui.keys)
    except (SettingsError, RemapError) as error:
        sys.stderr.write(safe(f"pool keys: {error}", terminal=True) + "\n")
        return EXIT_USAGE
    if args.list:
        sys.stdout.write("".join(f"{row}\n" for row in listed(keys)))
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("pool keys: keys come from a terminal; pool keys --list needs none\n")
        return EXIT_USAGE
    from pool.tui.keyshow import show_keys

    return show_keys(keys)
