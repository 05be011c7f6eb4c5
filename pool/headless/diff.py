"""`pool diff`: what a run, a session or the working tree changed, as a unified diff, a summary or JSON."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pool.headless.columns import cut_front, pad, width
from pool.headless.plain import one_line, safe
from pool.headless.undo import session_named
from pool.sessions.checkpoints.changes import ChangesView, FileChange
from pool.sessions.checkpoints.checkpoints import checkpoints_folder
from pool.sessions.checkpoints.difftext import diff_lines, mode_text
from pool.sessions.checkpoints.gitobjects import NoObject
from pool.sessions.checkpoints.states import Kind
from pool.sessions.log import read_rows
from pool.sessions.places import place_of
from pool.sessions.rewinds import NoSuchPrompt, prompt_named
from pool.sessions.store import Listed, NoSuchSession, sessions_folder, short_id
from pool_tools.home import expanded
from pool_tools.text import plural

EXIT_FAILED = 1
EXIT_USAGE = 2
BAR_CHARS = 30
_ID = re.compile(r"[0-9A-Fa-f-]{4,}")
"""What a session's id, shortened, looks like; anything else is a path."""

NAME_COLUMNS = 44

_RED, _GREEN, _CYAN, _BOLD, _OFF = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


def parser() -> argparse.ArgumentParser:
    """The flags of `pool diff`."""
    p = argparse.ArgumentParser(
        prog="pool diff",
        description="What a session changed in files, from before its first change until now.",
        epilog="A first argument that names a session is one; put -- before paths that look like one.",
    )
    p.add_argument("words", nargs="*", metavar="[SESSION] [PATH ...]", help="default: this folder's last session")
    scope = p.add_mutually_exclusive_group()
    scope.add_argument("--run", metavar="N", help="only what the prompt of this number (or run id) changed")
    scope.add_argument("--session", action="store_true", help="what the whole session changed (default)")
    scope.add_argument("--worktree", action="store_true", help="what differs from git's last commit, whoever did it")
    form = p.add_mutually_exclusive_group()
    form.add_argument("--stat", action="store_true", help="one line a file")
    form.add_argument("--json", action="store_true", help="one JSON object a file")
    p.add_argument("--color", choices=["auto", "always", "never"], default="auto")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the workspace (default: this folder)")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool diff`; returns the exit code."""
    words = list(argv)
    after: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, after = words[:at], words[at + 1 :]
    try:
        args = parser().parse_args(words)
    except SystemExit as error:
        return int(error.code or 0)
    try:
        found, paths = _session(args)
        root = _root(args, found)
        changes = _changes(args, found, root)
    except (NoSuchSession, NoSuchPrompt, NoObject) as error:
        return _complain(str(error), EXIT_USAGE)
    except OSError as error:
        return _complain(f"{error.strerror}: {error.filename}" if error.filename else str(error), EXIT_FAILED)
    top = str(root)
    wanted = [_inside(path, args.dir, top) for path in [*paths, *after]]
    if wanted:
        changes = [c for c in changes if any(c.path == w or c.path.startswith(f"{w}/") or w == "." for w in wanted)]
    colours = args.color == "always" or (args.color == "auto" and sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    _print(args, changes, colours=colours)
    return 0


def _session(args: argparse.Namespace) -> tuple[Listed | None, list[str]]:
    """The session that is meant, and the paths. None: there is none, and none is needed."""
    words: list[str] = args.words
    if words and _ID.fullmatch(words[0]) and not os.path.lexists(Path(args.dir) / words[0]):
        return session_named(words[0], args.dir), words[1:]
    try:
        return session_named("", args.dir), words
    except NoSuchSession:
        if args.worktree:
            return None, words
        raise


def _root(args: argparse.Namespace, found: Listed | None) -> Path:
    """The folder whose files are meant: the named run's or the session's; others are told. Raises `NoSuchPrompt`."""
    here = expanded(args.dir).resolve()
    if found is None:
        return here
    rows, _ = read_rows(found.path.read_bytes())
    if args.run is not None:
        return Path(prompt_named(rows, args.run).workspace or found.workspace)
    place = place_of(rows, found.workspace, str(here))
    for other in () if args.worktree else place.others:
        _complain(f"the session worked in {other} too: pool diff {short_id(found.id)} -C {shlex.quote(other)}", 0)
    return Path(place.folder)


def _changes(args: argparse.Namespace, found: Listed | None, root: Path) -> list[FileChange]:
    folder = checkpoints_folder(sessions_folder(), found.id if found else "none")
    with ChangesView(folder, root) as view:
        if args.worktree or found is None:
            return view.of_worktree()
        if args.run is not None:
            rows, _ = read_rows(found.path.read_bytes())
            return view.of_runs({prompt_named(rows, args.run).run})
        return view.of_session()


def _inside(path: str, folder: str, top: str) -> str:
    """A path as the changes name it: relative to the workspace."""
    return os.path.relpath(os.path.abspath(os.path.join(folder, path)), top)


def _print(args: argparse.Namespace, changes: Sequence[FileChange], *, colours: bool) -> None:
    if args.json:
        for change in changes:
            print(json.dumps(row_of(change), ensure_ascii=False))
        return
    if not changes:
        sys.stderr.write("no changes\n")
    lines = stat_lines(changes) if args.stat else (line for c in changes for line in diff_lines(c))
    terminal = sys.stdout.isatty()
    for line in lines:
        text = safe(line, terminal=terminal)
        print(_coloured(text) if colours and not args.stat else text)


def row_of(change: FileChange) -> dict[str, Any]:
    """A change as one JSON object."""
    added, removed = change.counts
    row: dict[str, Any] = {"path": change.path, "kind": change.kind.value, "added": added, "removed": removed}
    row |= {
        "binary": change.binary,
        "old_mode": mode_text(change.before_mode),
        "new_mode": mode_text(change.after_mode),
    }
    row["note"] = change.note
    row["diff"] = "\n".join(diff_lines(change))
    return row


def stat_lines(changes: Sequence[FileChange]) -> Iterator[str]:
    """One line a file with a bar, and a last line with the sums."""
    counts = [change.counts for change in changes]
    most = max((a + r for a, r in counts), default=0)
    columns = min(NAME_COLUMNS, max((width(one_line(c.path)) for c in changes), default=0))
    for change, (added, removed) in zip(changes, counts, strict=True):
        name = pad(cut_front(change.path, columns), columns)
        kind = "" if change.kind is Kind.MODIFIED else f" ({change.kind.value})"
        if change.note or change.binary:
            yield f" {name} | {'not known' if change.note else 'binary'}{kind}"
            continue
        scale = min(1.0, BAR_CHARS / most) if most else 0.0
        bar = "+" * round(added * scale) + "-" * round(removed * scale)
        yield f" {name} | {added + removed:>5} {bar}{kind}"
    added, removed = sum(a for a, _ in counts), sum(r for _, r in counts)
    yield f" {plural(len(changes), 'file')} changed, {plural(added, 'line')} added, {removed:,} removed"


def _coloured(line: str) -> str:
    match line[:1]:
        case "+" if not line.startswith("+++ "):
            return f"{_GREEN}{line}{_OFF}"
        case "-" if not line.startswith("--- "):
            return f"{_RED}{line}{_OFF}"
        case "@":
            return f"{_CYAN}{line}{_OFF}"
        case " ":
            return line
        case _:
            return f"{_BOLD}{line}{_OFF}"


def _complain(text: str, code: int) -> int:
    from pool.headless.sessions import complain

    return complain(text, code, "diff")
