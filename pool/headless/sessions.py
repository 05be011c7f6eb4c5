"""`pool sessions`: list the sessions on disk, and show one as text."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pool.headless.plain import safe
from pool.sessions.log import read_rows
from pool.sessions.store import Listed, NoSuchSession, by_id, listed, sessions_folder

EXIT_USAGE = 2
ID_CHARS = 13
"""Enough of an id to name it: the time in milliseconds."""

RESULT_LINES = 6


def main(argv: Sequence[str]) -> int:
    """Run `pool sessions`; returns the exit code."""
    parser = argparse.ArgumentParser(prog="pool sessions", description="The sessions on disk.")
    parser.add_argument("action", nargs="?", choices=["list", "show", "path"], default="list")
    parser.add_argument("id", nargs="?", default="", help="the beginning or end of a session's id")
    parser.add_argument("-C", "--dir", metavar="DIR", help="only sessions of this workspace")
    parser.add_argument("--json", action="store_true", help="list as JSON lines")
    try:
        args = parser.parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    folder = sessions_folder()
    if args.action == "list":
        wanted = str(Path(args.dir).resolve()) if args.dir else ""
        return _list([s for s in listed(folder) if not wanted or s.workspace == wanted], folder, as_json=args.json)
    try:
        found = by_id(folder, args.id)
        data = found.path.read_bytes()
    except (NoSuchSession, OSError) as error:
        sys.stderr.write(f"pool sessions: {error}\n")
        return EXIT_USAGE
    if args.action == "path":
        print(found.path)
        return 0
    for row in read_rows(data)[0]:
        text = _shown(row)
        if text:
            print(safe(text, terminal=sys.stdout.isatty()))
    return 0


def _list(sessions: Sequence[Listed], folder: Path, *, as_json: bool) -> int:
    if not sessions and not as_json:
        sys.stderr.write(f"no sessions yet ({folder})\n")
    for one in sessions:
        if as_json:
            fields = {"id": one.id, "workspace": one.workspace, "created": one.created, "changed": one.changed}
            print(json.dumps({**fields, "prompt": one.prompt, "path": str(one.path)}))
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.changed))
        line = f"{one.id[:ID_CHARS]}  {when}  {one.workspace}  {one.prompt[:80]}"
        print(safe(line, terminal=sys.stdout.isatty()))
    return 0


def _shown(row: dict[str, Any]) -> str:
    """What a person wants to see of a row, "" if nothing."""
    match row:
        case {"type": "run.started", "prompt": prompt, "model": model}:
            return f"\n> {prompt}\n  ({model})"
        case {"type": "message.added", "role": "assistant", "text": text}:
            return str(json.loads(str(text)).get("content") or "").strip()
        case {"type": "call.proposed", "title": title, "name": name}:
            return f"→ {title or name}"
        case {"type": "call.finished", "status": status, "text": text}:
            lines = str(text).splitlines()
            more = f"\n    ... {len(lines) - RESULT_LINES} more lines" if len(lines) > RESULT_LINES else ""
            return f"← {status}" + "".join(f"\n    {line}" for line in lines[:RESULT_LINES]) + more
        case {"type": "guard.fired", "guard": guard, "action": action, "detail": detail}:
            return f"guard {guard}: {action}: {detail}"
        case {"type": "run.finished", "reason": reason, "detail": detail, "turns": turns}:
            return f"── {reason}{f': {detail}' if detail else ''} ({turns} turns)"
        case _:
            return ""
