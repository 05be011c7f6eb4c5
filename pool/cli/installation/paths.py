"""`pool paths`: where Pool keeps what."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from pool.cli.installation.places import Place, known_places
from pool.headless.columns import cut, home_short, pad, terminal_columns, width

NAME_COLUMNS = 14


def parser() -> argparse.ArgumentParser:
    """The flags of `pool paths`."""
    p = argparse.ArgumentParser(
        prog="pool paths",
        description="Where Pool keeps what on this machine, and where it would. XDG_CONFIG_HOME, XDG_STATE_HOME and "
        "XDG_CACHE_HOME move configuration, state and caches.",
        epilog="pool uninstall --purge takes all of it away.",
    )
    p.add_argument("name", nargs="?", default="", metavar="NAME", help="print only the path of this one")
    p.add_argument("--json", action="store_true", help="as a JSON array")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool paths`; returns the exit code."""
    p = parser()
    try:
        args = p.parse_args(list(argv))
        places = known_places(os.environ, Path.cwd())
        found = [place for place in places if args.name in ("", place.name)]
        if not found:
            p.error(f"there is no {args.name!r}; there are {', '.join(dict.fromkeys(one.name for one in places))}")
    except SystemExit as error:
        return int(error.code or 0)
    if args.json:
        rows = [{"name": p.name, "path": str(p.path), "exists": p.exists, "holds": p.holds} for p in found]
        print(json.dumps(rows, ensure_ascii=True, indent=2))
    elif args.name:
        for place in found:
            print(place.path)
    else:
        for line in table(found, terminal_columns()):
            print(line)
    return 0


def table(places: Sequence[Place], columns: int) -> list[str]:
    """Two lines for each place: its path, and what it holds; columns 0: they need not fit."""
    out: list[str] = []
    for place in places:
        path = home_short(str(place.path)) + ("" if place.exists else "  (nothing there)")
        room = (columns or NAME_COLUMNS + width(path) + len(place.holds)) - NAME_COLUMNS
        # A path is never cut: it is there to be copied.
        out.append(pad(place.name, NAME_COLUMNS) + cut(path, max(room, width(path))))
        out.append(" " * NAME_COLUMNS + cut(place.holds, room))
    return out
