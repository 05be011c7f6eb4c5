"""`pool attach`: a detached run in the full-screen interface, or on plain lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pool.config.settings import Settings, SettingsError
from pool.facekit.live.finding import NoSuchRun, by_id
from pool.facekit.live.place import Attachment, LiveRecord, PlaceError
from pool.headless.plain import safe

EXIT_USAGE = 2


def parser() -> argparse.ArgumentParser:
    """The flags of `pool attach`."""
    p = argparse.ArgumentParser(
        prog="pool attach",
        description="Show a detached run from its beginning, steer it, answer what it asks. Leaving it lets it go on. "
        "Without a terminal it is shown to its end.",
        epilog="Exit codes: 0 left, else that of the run; 2 there is no such run. "
        "pool chat --attach ID is the same on the lines of pool chat.",
    )
    p.add_argument("id", metavar="ID", help="the run, by the beginning or end of its id (pool ps)")
    p.add_argument("--lines", action="store_true", help="plain lines in place of the full-screen interface")
    p.add_argument("-o", "--output", choices=["text", "stream-json"], default="text", help="stream-json: its events")
    p.add_argument("--new", action="store_true", help="show only what happens from now on")
    p.add_argument("--theme", metavar="NAME", help="colours (pool themes lists them)")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool attach`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
        record = by_id(args.id)
    except SystemExit as error:
        return int(error.code or 0)
    except (NoSuchRun, PlaceError) as error:
        sys.stderr.write(safe(f"pool attach: {error}", terminal=True) + "\n")
        return EXIT_USAGE
    from pool.cli.interactive import declined

    if args.output == "text" and not args.lines and not declined():
        return _full_screen(record, args)
    from pool.headless.live.attach import attach

    return attach(record, args.output, only_new=args.new)


def settings_of(record: LiveRecord, program: str) -> Settings:
    """How the interface is to look in a run's folder; the run has its own settings. Raises `SettingsError`."""
    from pool.headless.command import parser as run_parser
    from pool.headless.configured import settings_from

    args = run_parser().parse_args(["-C", record.workspace])
    return settings_from(args, program=program, with_key=False, interactive=False)


def _full_screen(record: LiveRecord, args: argparse.Namespace) -> int:
    from pool.cli.interactive import show

    try:
        settings = settings_of(record, "pool attach")
    except SettingsError as error:
        sys.stderr.write(safe(f"pool attach: {error}", terminal=True) + "\n")
        sys.stderr.write("  pool attach --lines shows the run without the settings of its folder\n")
        return EXIT_USAGE
    return show(settings, theme=args.theme or "", attachment=Attachment(record, only_new=args.new))
