"""`pool sessions rename, delete, prune`: what changes or deletes sessions."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pool.headless.columns import size
from pool.headless.plain import one_line
from pool.headless.sessionlist import print_entries
from pool.headless.sessions import EXIT_FAILED, EXIT_USAGE, complain, workspace_of
from pool.sessions.index import SessionEntry, SessionIndex
from pool.sessions.log import SessionBusy
from pool.sessions.manage import Limits, beyond, delete, rename
from pool.sessions.store import by_id, short_id
from pool.sessions.summary import plain_line


def act(args: argparse.Namespace, folder: Path) -> int:
    """Do what the action says; returns the exit code. Raises `NoSuchSession`, `SessionBusy` and `OSError`."""
    match args.action:
        case "rename":
            return _rename(args, folder)
        case "delete":
            return _delete(args, folder)
        case _:
            return _prune(args, folder)


def _rename(args: argparse.Namespace, folder: Path) -> int:
    found = by_id(folder, args.id)
    name = plain_line(" ".join(args.name))
    rename(found.path, found.id, name, _say)
    if args.json:
        print(json.dumps({"id": found.id, "name": name}, ensure_ascii=False))
    else:
        print(f"{short_id(found.id)}  {one_line(name or found.prompt)}")
    return 0


def _delete(args: argparse.Namespace, folder: Path) -> int:
    paths = {by_id(folder, one).path for one in args.ids}
    with SessionIndex(folder, _say) as index:
        entries = [entry for entry in index.entries(tasks=True) if entry.path in paths]
    if not _agreed(args, entries):
        return EXIT_USAGE
    return _deleted(entries, as_json=args.json)


def _prune(args: argparse.Namespace, folder: Path) -> int:
    limits = Limits(args.older_than, args.keep, args.max_size)
    if limits == Limits():
        return complain("say which: --older-than 30d, --keep 100 or --max-size 1G", EXIT_USAGE)
    with SessionIndex(folder, _say) as index:
        entries = beyond(index.entries(workspace_of(args), tasks=True), limits, time.time())
    if not entries:
        _say("there is nothing to delete")
        return 0
    if args.dry_run:
        print_entries(entries, everywhere=args.all, as_json=args.json)
        _say(f"{_count(entries)} would be deleted; nothing was")
        return 0
    if not _agreed(args, entries):
        return EXIT_USAGE
    return _deleted(entries, as_json=args.json)


def _agreed(args: argparse.Namespace, entries: Sequence[SessionEntry]) -> bool:
    """Show what would be deleted and ask, unless --yes was given."""
    if args.yes:
        return True
    if args.json or not sys.stdin.isatty():
        complain(f"{_count(entries)} would be deleted, and nobody can be asked; --yes deletes", EXIT_USAGE)
        return False
    print_entries(entries, everywhere=True, as_json=False)
    sys.stderr.write(f"Delete {_count(entries)}, with what is kept for undo? This cannot be taken back. [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    _say("nothing was deleted")
    return False


def _deleted(entries: Sequence[SessionEntry], *, as_json: bool) -> int:
    failed = 0
    for entry in entries:
        try:
            delete(entry.path, entry.id)
        except FileNotFoundError:
            continue
        except (SessionBusy, OSError) as error:
            failed += 1
            complain(f"{short_id(entry.id)} was not deleted: {error}", 0)
            continue
        if as_json:
            print(json.dumps({"id": entry.id, "size": entry.size}))
    if not as_json and len(entries) > failed:
        _say(f"{len(entries) - failed} deleted")
    return EXIT_FAILED if failed else 0


def _count(entries: Sequence[SessionEntry]) -> str:
    what = "1 session" if len(entries) == 1 else f"{len(entries):,} sessions"
    return f"{what} ({size(sum(entry.size for entry in entries))})"


def _say(text: str) -> None:
    complain(text, 0)
