"""`pool sessions`: list, show, find, rename and delete the sessions on disk."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pool.headless.sessionlist import print_entries, print_hits
from pool.headless.shown import shown_rows
from pool.sessions.log import SessionBusy
from pool.sessions.rewinds import NoSuchPrompt
from pool.sessions.store import NoSuchSession, by_id, sessions_folder
from pool_tools.home import expanded

EXIT_FAILED = 1
EXIT_USAGE = 2
LIMIT = 20
"""Sessions that are listed unless --limit says otherwise."""

ACTIONS = ("list", "show", "search", "fork", "rename", "delete", "prune", "path")

_UNITS = {"": 86_400, "h": 3_600, "d": 86_400, "w": 604_800}
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def parser() -> argparse.ArgumentParser:
    """The actions of `pool sessions` and their flags."""
    p = argparse.ArgumentParser(
        prog="pool sessions",
        description="The sessions on disk. Without an action they are listed. ID is the beginning or the end of an id.",
    )
    actions = p.add_subparsers(dest="action", required=True, metavar="ACTION")
    place = argparse.ArgumentParser(add_help=False)
    place.add_argument("-C", "--dir", metavar="DIR", default=".", help="the workspace (default: this folder)")
    place.add_argument("-a", "--all", action="store_true", help="sessions of all workspaces")
    lines = argparse.ArgumentParser(add_help=False)
    lines.add_argument("-n", "--limit", type=_count, metavar="N", default=LIMIT, help=f"0: all (default {LIMIT})")
    as_json = argparse.ArgumentParser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="one JSON object a line")
    sure = argparse.ArgumentParser(add_help=False)
    sure.add_argument("-y", "--yes", action="store_true", help="do not ask")

    listing = actions.add_parser("list", parents=[place, lines, as_json], help="the last sessions of this folder")
    listing.add_argument("--tasks", action="store_true", help="those of subagents too")
    show = actions.add_parser("show", parents=[as_json], help="what was said and done in a session")
    show.add_argument("id", metavar="ID")
    search = actions.add_parser(
        "search", parents=[place, lines, as_json], help="find prompts, answers, names and files"
    )
    search.add_argument("words", nargs="+", metavar="WORD", help="each has to stand somewhere in the session")
    fork = actions.add_parser("fork", parents=[as_json], help="a new session that begins as this one does")
    fork.add_argument("id", metavar="ID")
    fork.add_argument("--at", metavar="PROMPT", default="", help="as it was before this prompt: number, or run id")
    rename = actions.add_parser("rename", parents=[as_json], help="give a session a name")
    rename.add_argument("id", metavar="ID")
    rename.add_argument("name", nargs="*", metavar="NAME", help="without one, the first line of its first prompt")
    delete = actions.add_parser("delete", parents=[sure, as_json], help="delete sessions and what is kept for them")
    delete.add_argument("ids", nargs="+", metavar="ID")
    prune = actions.add_parser("prune", parents=[place, sure, as_json], help="delete old sessions, shown first")
    prune.add_argument("--older-than", type=_age, metavar="AGE", help="changed longer ago than 30d, 12h or 2w")
    prune.add_argument("--keep", type=_count, metavar="N", help="all but the last N")
    prune.add_argument("--max-size", type=_bytes, metavar="SIZE", help="the oldest, until all take at most 500M or 2G")
    prune.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    path = actions.add_parser("path", parents=[as_json], help="where the sessions, or one of them, lie")
    path.add_argument("id", nargs="?", metavar="ID", default="")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool sessions`; returns the exit code."""
    words = list(argv)
    if not words or (words[0] not in ACTIONS and words[0] not in ("-h", "--help") and words[0].startswith("-")):
        words.insert(0, "list")
    try:
        args = parser().parse_args(words)
    except SystemExit as error:
        return int(error.code or 0)
    try:
        return _act(args)
    except (NoSuchSession, NoSuchPrompt, SessionBusy) as error:
        return complain(str(error), EXIT_USAGE)
    except OSError as error:
        return complain(f"{error.strerror}: {error.filename}" if error.filename else str(error), EXIT_FAILED)


def complain(text: str, code: int, command: str = "sessions") -> int:
    """Say what is wrong on stderr; returns code."""
    from pool.headless.plain import safe

    sys.stderr.write(f"pool {command}: {safe(text, terminal=True)}\n")
    return code


def workspace_of(args: argparse.Namespace) -> str:
    """The workspace that the flags mean, "" for all."""
    return "" if args.all else str(expanded(args.dir).resolve())


def _act(args: argparse.Namespace) -> int:
    folder = sessions_folder()
    match args.action:
        case "list":
            return _list(args, folder)
        case "search":
            return _search(args, folder)
        case "show":
            return _show(args, folder)
        case "path":
            return _path(args, folder)
        case "fork":
            return _fork(args, folder)
        case _:
            from pool.headless import managing

            return managing.act(args, folder)


def _list(args: argparse.Namespace, folder: Path) -> int:
    from pool.sessions.index import SessionIndex

    workspace = workspace_of(args)
    with SessionIndex(folder, _say) as index:
        entries = index.entries(workspace, args.limit, tasks=args.tasks)
        elsewhere = 0 if entries or not workspace else len(index.entries())
    if not entries and not args.json:
        others = f"; {elsewhere:,} in other folders: pool sessions list --all" if elsewhere else ""
        _say(f"no sessions {f'for {workspace}' if workspace else f'in {folder}'} yet{others}")
    print_entries(entries, everywhere=args.all, as_json=args.json)
    return 0


def _search(args: argparse.Namespace, folder: Path) -> int:
    from pool.sessions.index import SessionIndex

    workspace = workspace_of(args)
    with SessionIndex(folder, _say) as index:
        hits = index.search(args.words, workspace, args.limit)
        elsewhere = 0 if hits or not workspace else len(index.search(args.words))
    if not hits and not args.json:
        others = f"; {elsewhere:,} in other folders: --all" if elsewhere else ""
        _say(f"nothing found{others}")
    print_hits(hits, args.words, everywhere=args.all, as_json=args.json)
    return 0 if hits else EXIT_FAILED


def _show(args: argparse.Namespace, folder: Path) -> int:
    from pool.headless.plain import safe
    from pool.sessions.log import read_rows

    rows, _ = read_rows(by_id(folder, args.id).path.read_bytes())
    if args.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return 0
    for text in shown_rows(rows):
        print(safe(text, terminal=sys.stdout.isatty()))
    return 0


def _path(args: argparse.Namespace, folder: Path) -> int:
    found = by_id(folder, args.id).path if args.id else folder
    row: dict[str, Any] = {"path": str(found)}
    print(json.dumps(row) if args.json else found)
    return 0


def _fork(args: argparse.Namespace, folder: Path) -> int:
    from pool import __version__
    from pool.agent.ids import new_id
    from pool.sessions.forks import fork
    from pool.sessions.store import short_id

    session = new_id()
    source = by_id(folder, args.id)
    path = fork(source, session, __version__, at=args.at)
    short = short_id(session)
    row = {"id": session, "forked_from": source.id, "path": str(path)}
    print(json.dumps(row) if args.json else f"{short}  pool run --resume {short} goes on with it")
    return 0


def _say(text: str) -> None:
    complain(text, 0)


def _count(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def _measured(text: str, units: dict[str, int], what: str) -> float:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([a-z]?)b?", text.strip().lower())
    if match is None or match[2] not in units:
        raise argparse.ArgumentTypeError(f"{text!r} is no {what}")
    return float(match[1]) * units[match[2]]


def _age(text: str) -> float:
    return _measured(text, _UNITS, "age such as 30d, 12h or 2w")


def _bytes(text: str) -> int:
    return int(_measured(text, _SIZES, "size such as 500M or 2G"))
