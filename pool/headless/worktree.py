"""`pool worktree`: the worktrees of a repository, merging one back in one step, removing one."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pool.agent.configured import settings_for
from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import find_repository, open_repository
from pool.agent.gitwork.worktrees import (
    MergePlan,
    Worktree,
    conflict_words,
    main_of,
    merge,
    plan_merge,
    remove_worktree,
    worktrees,
)
from pool.config.settings import Settings, SettingsError
from pool.headless.asking import agreed
from pool.headless.configured import folder_of, tell
from pool.headless.plain import one_line, safe

PROGRAM = "pool worktree"
EXIT_FAILED = 1
EXIT_USAGE = 2
COMMITS_SHOWN = 20


def parser() -> argparse.ArgumentParser:
    """The flags of `pool worktree`."""
    p = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Worktrees in which sessions work (pool run --worktree): beside the repository, in NAME.worktrees.",
        epilog="merge shows what it would bring, then merges into the branch of the main checkout: forward, or by a "
        "merge commit. It refuses while the main checkout or the worktree has changes that are not committed. "
        "Conflicts are left for you. Exit codes: 0 done, 1 not done, 2 usage or nobody to ask.",
    )
    actions = p.add_subparsers(dest="action", metavar="list|merge|remove")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("-C", "--dir", metavar="DIR", default=".", help="the workspace (default: this folder)")
    listing = actions.add_parser("list", parents=[common], help="all worktrees (default)")
    listing.add_argument("--json", action="store_true", help="one JSON object a worktree")
    merging = actions.add_parser("merge", parents=[common], help="merge a worktree's branch back")
    merging.add_argument(
        "name", nargs="?", default="", metavar="BRANCH", help="branch or folder (default: the only one)"
    )
    merging.add_argument("--no-ff", action="store_true", help="a merge commit also where none is needed")
    merging.add_argument("--remove", action="store_true", help="remove the worktree and its branch afterwards")
    merging.add_argument("-n", "--dry-run", action="store_true", help="only show what would be merged")
    merging.add_argument("-y", "--yes", action="store_true", help="do not ask")
    removing = actions.add_parser("remove", parents=[common], help="remove a worktree; what is not merged stays")
    removing.add_argument(
        "name", nargs="?", default="", metavar="BRANCH", help="branch or folder (default: the only one)"
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool worktree`; returns the exit code."""
    words = list(argv)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        words.insert(0, "list")
    try:
        args = parser().parse_args(words)
    except SystemExit as error:
        return int(error.code or 0)
    try:
        workspace = folder_of(args.dir)
        loaded = settings_for(workspace, os.environ, with_key=False)
        tell(loaded.warnings, PROGRAM)
        return asyncio.run(_act(args, loaded.settings))
    except SettingsError as error:
        return _complain(str(error), EXIT_USAGE)
    except GitWorkError as error:
        return _complain(str(error), EXIT_FAILED)


async def _act(args: argparse.Namespace, settings: Settings) -> int:
    match args.action:
        case "merge":
            return await _merge(args, settings)
        case "remove":
            _print([await remove_worktree(settings, args.name)])
            return 0
        case _:
            async with open_repository(settings) as repo:
                trees = await worktrees(repo)
            _list(trees, as_json=args.json)
            return 0


async def _merge(args: argparse.Namespace, settings: Settings) -> int:
    main_folder = main_of(find_repository(settings.workspace))
    async with open_repository(replace(settings, workspace=main_folder)) as repo:
        plan = await plan_merge(repo, settings, args.name)
        _print(plan_lines(plan, always_commit=args.no_ff))
        if not plan.commits:
            done = True
        elif args.dry_run:
            return 0
        elif not args.yes and not _agreed("Merge this?"):
            return EXIT_USAGE
        else:
            merged = await merge(repo, plan, always_commit=args.no_ff)
            done = not merged.conflicts
            words = f"merged: {plan.main.branch} is at {merged.head[:10]}" if done else conflict_words(plan, merged)
            _print([words])
    if not done:
        return EXIT_FAILED
    removing = args.remove or (
        plan.tree.ours and not args.yes and sys.stdin.isatty() and agreed("Remove the worktree?")
    )
    if removing and not args.dry_run:
        _print([await remove_worktree(replace(settings, workspace=main_folder), plan.tree.branch)])
    return 0


def plan_lines(plan: MergePlan, *, always_commit: bool = False) -> list[str]:
    """What a merge would bring, as lines."""
    if not plan.commits:
        return [f"{plan.main.branch} has all of {plan.tree.branch} already"]
    how = "forward" if plan.forward and not always_commit else "by a merge commit"
    lines = [f"{plan.tree.branch} into {plan.main.branch}, {how}:"]
    lines += [f"  {line}" for line in plan.commits[:COMMITS_SHOWN]]
    if len(plan.commits) > COMMITS_SHOWN:
        lines.append(f"  … and {len(plan.commits) - COMMITS_SHOWN} more commits")
    return [*lines, *plan.stat.split("\n")]


def _list(trees: Sequence[Worktree], *, as_json: bool) -> None:
    for tree in trees:
        if as_json:
            row = {"path": str(tree.path), "branch": tree.branch, "head": tree.head, "main": tree.main}
            print(json.dumps({**row, "made_by_pool": tree.ours, "missing": tree.missing}))
            continue
        notes = ["main checkout"] * tree.main + ["folder is gone"] * tree.missing
        notes += ["not made by Pool"] * (not tree.main and not tree.ours)
        said = f"  ({', '.join(notes)})" if notes else ""
        _print([f"{one_line(tree.branch or tree.head[:10]):30} {one_line(_short(tree.path))}{said}"])


def _short(path: Path) -> str:
    """The shorter of a path and the way to it from here."""
    way = os.path.relpath(path)
    return min(str(path), way, key=len)


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        _complain("nothing was merged, since nobody can be asked; --yes does it", EXIT_USAGE)
        return False
    return agreed(question)


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(safe(line, terminal=sys.stdout.isatty()))


def _complain(text: str, code: int) -> int:
    sys.stderr.write(safe(f"{PROGRAM}: {text}", terminal=True) + "\n")
    return code
