"""`pool uninstall`: take the program away, and with --purge all that it keeps. It lists, then asks."""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from pool.cli.installation.belongings import Belonging, belongings, remove_leftovers, stays, unreadable
from pool.cli.installation.program import Program, installed_program, remove_program
from pool.cli.installation.running import running
from pool.facekit.live.place import PlaceError
from pool.headless.asking import agreed
from pool.headless.columns import terminal_columns
from pool.headless.plain import one_line

PROGRAM = "pool uninstall"
EXIT_FAILED = 1
EXIT_USAGE = 2
NAME_COLUMNS = 14
LEAST_COLUMNS = 40
"""Sentences are not made narrower than this."""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool uninstall`."""
    p = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Take Pool away. What it keeps stays (pool paths shows where), unless --purge is given: then "
        "sessions, settings, keys, caches, keyring entries, completion, units and lines in checkouts go too.",
        epilog="It refuses while sessions are open or Pool runs elsewhere. Exit codes: 0 done, 1 not done or not "
        "whole, 2 usage or nobody to ask.",
    )
    p.add_argument("--purge", action="store_true", help="remove all that Pool keeps, too")
    p.add_argument("-n", "--dry-run", action="store_true", help="only list")
    p.add_argument("-y", "--yes", action="store_true", help="do not ask")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool uninstall`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    here = Path.cwd()
    if not args.dry_run and _in_use():
        return EXIT_FAILED
    program, things = installed_program(), belongings(here) if args.purge else []
    _list(program, things)
    if args.purge:
        # Before anything goes: it is found by what is there now.
        _left(here, program)
    else:
        print("what Pool keeps stays: pool paths shows where; --purge removes it too")
    if args.dry_run:
        print("nothing was removed")
        return 0
    if not things and not program.remove:
        print("there is nothing to remove")
        return 0
    if not args.yes and not _asked():
        return EXIT_USAGE
    return _remove(program, things)


def _in_use() -> bool:
    """Whether somebody works with it, which is said."""
    try:
        found = running()
    except PlaceError as error:
        found = [str(error)]
    for line in found:
        _complain(line)
    if found:
        _complain("Pool is in use, so nothing was removed; end these first")
    return bool(found)


def _list(program: Program, things: Sequence[Belonging]) -> None:
    print("These are removed:")
    for thing in things:
        print(f"  {thing.name:{NAME_COLUMNS}}{one_line(thing.what)}")
    if program.remove:
        print(f"  {'program':{NAME_COLUMNS}}{one_line(shlex.join(program.remove))}")
    elif not things:
        print("  nothing")


def _left(here: Path, program: Program) -> None:
    print("These stay, as they are not Pool's alone or cannot be found from here:")
    for line in (*unreadable(), *stays(here), *([program.note] if program.note else [])):
        for part in _wrapped(one_line(line)):
            print(part)


def _wrapped(line: str) -> list[str]:
    """A sentence as lines that fit the terminal; one line where that is no terminal."""
    columns = terminal_columns()
    if not columns:
        return [f"  {line}"]
    return textwrap.wrap(
        line,
        max(columns, LEAST_COLUMNS),
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _asked() -> bool:
    if not sys.stdin.isatty():
        _complain("nothing was removed, since nobody can be asked; --yes does it")
        return False
    if agreed("Remove all this? It cannot be taken back."):
        return True
    print("nothing was removed")
    return False


def _remove(program: Program, things: Sequence[Belonging]) -> int:
    # Somebody may have begun to work while the question stood.
    if _in_use():
        return EXIT_FAILED
    problems = [problem for thing in things if (problem := thing.remove())]
    if things:
        remove_leftovers()
    if program.remove and (problem := remove_program(program)):
        problems.append(problem)
    for problem in problems:
        _complain(problem)
    if problems:
        return EXIT_FAILED
    print("removed" + (f"; {program.note}" if program.note and not things else ""))
    return 0


def _complain(text: str) -> None:
    sys.stderr.write(f"{PROGRAM}: {one_line(text)}\n")
