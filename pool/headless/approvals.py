"""`pool approvals`: the rules that hold in a checkout and where each comes from; forget what was approved for good."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pool.agent.configured import settings_for
from pool.agent.rules.kept import Kept, KeptApprovals, KeptError
from pool.config.settings import SettingsError
from pool.headless.configured import folder_of, tell
from pool.headless.plain import one_line

EXIT_USAGE = 2
_PROGRAM = "pool approvals"


def parser() -> argparse.ArgumentParser:
    """The flags of `pool approvals`."""
    p = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="What runs unasked, asks or never runs in this checkout, and what you approved here for good.",
    )
    p.add_argument("action", nargs="?", choices=["list", "forget"], default="list")
    p.add_argument("rule", nargs="?", default="", help="what to forget, exactly as list shows it, or 'all'")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="workspace folder (default: this one)")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool approvals`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        workspace = folder_of(args.dir)
        kept = KeptApprovals(workspace)
        return _list(workspace, kept) if args.action == "list" else _forget(kept, args.rule)
    except (KeptError, SettingsError) as error:
        tell([str(error)], _PROGRAM)
        return EXIT_USAGE


def _list(workspace: Path, kept: KeptApprovals) -> int:
    found = kept.load()
    print(one_line(f"approved for good in {kept.workspace}, kept in {kept.path}:"))
    for line in _kept_lines(found):
        print(f"  {one_line(line)}")
    if found == Kept():
        print("  nothing")
    loaded = settings_for(workspace, os.environ, with_key=False)
    tell(loaded.warnings, _PROGRAM)
    given = loaded.settings
    rows = [
        (f"{action} {text}", loaded.origin(f"approvals.{action}", text))
        for action, texts in (("deny", given.deny), ("ask", given.ask), ("allow", given.allow))
        for text in texts
    ]
    if rows:
        print("from settings:")
    for rule, origin in rows:
        print(one_line(f"  {rule}   {origin.place}{f':{origin.line}' if origin.line else ''}"))
    return 0


def _kept_lines(found: Kept) -> Iterator[str]:
    yield from (str(rule) for rule in found.rules)
    yield from (f"allow this call alone: {shown}" for _, shown in found.calls)


def _forget(kept: KeptApprovals, wanted: str) -> int:
    if not wanted:
        tell(["say what to forget: a rule, exactly as `pool approvals` shows it, or all"], _PROGRAM)
        return EXIT_USAGE
    if wanted == "all":
        print("forgotten: all" if kept.forget_all() else "there was nothing to forget")
        return 0
    found = kept.load()
    names = {one_line(text): text for text in (*(r.text for r in found.rules), *(shown for _, shown in found.calls))}
    text = wanted.removeprefix("allow this call alone: ").removeprefix("allow ").strip()
    if text in names and kept.forget(names[text]):
        print(one_line(f"forgotten: {text}. A session that runs now keeps it until its end"))
        return 0
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.3)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    sys.stderr.write(one_line(f"{_PROGRAM}: nothing that is kept here is called '{wanted}'{meant}") + "\n")
    return EXIT_USAGE
