"""`pool undo`: files and conversation back to before a prompt, shown first; `--redo` takes it back."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pool.headless.plain import one_line
from pool.sessions.checkpoints.journal import JournalBusy
from pool.sessions.checkpoints.undo import Step, Undone, Verdict
from pool.sessions.log import SessionBusy
from pool.sessions.rewind import ClosedSession, Rewind
from pool.sessions.rewinds import NoSuchPrompt
from pool.sessions.store import Listed, NoSuchSession, by_id, last_of, sessions_folder, short_id
from pool_tools.home import expanded

EXIT_FAILED = 1
EXIT_USAGE = 2
PROMPT_CHARS = 60
FILES_SHOWN = 200


def parser() -> argparse.ArgumentParser:
    """The flags of `pool undo`."""
    p = argparse.ArgumentParser(
        prog="pool undo",
        description="Take back what the last prompt of a session did, to files and to the conversation. What would "
        "be done is shown first. Files that you changed since are left alone. pool undo --redo takes an undo back.",
    )
    p.add_argument("session", nargs="?", default="", help="beginning or end of its id (default: this folder's last)")
    p.add_argument("--to", metavar="PROMPT", default="", help="to before this prompt: its number, or its run's id")
    p.add_argument("--redo", action="store_true", help="take the last undo back")
    what = p.add_mutually_exclusive_group()
    what.add_argument("--files", action="store_true", help="only the files")
    what.add_argument("--conversation", action="store_true", help="only the conversation")
    what.add_argument("--both", action="store_true", help="both (default)")
    p.add_argument("--over-mine", "--theirs", action="store_true", help="also files that you changed since")
    p.add_argument("-n", "--dry-run", action="store_true", help="only show what would be done")
    p.add_argument("-y", "--yes", action="store_true", help="do not ask")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the workspace (default: this folder)")
    p.add_argument("--json", action="store_true", help="one JSON object")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool undo`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        with ClosedSession(session_named(args.session, args.dir), _say, args.to, redo=args.redo) as session:
            return _act(session, args)
    except (NoSuchSession, NoSuchPrompt, SessionBusy, JournalBusy) as error:
        return _complain(str(error), EXIT_USAGE)
    except OSError as error:
        return _complain(f"{error.strerror}: {error.filename}" if error.filename else str(error), EXIT_FAILED)


def session_named(name: str, folder: str) -> Listed:
    """A session by its id, "" for the last of a workspace. Raises `NoSuchSession`."""
    sessions = sessions_folder()
    return by_id(sessions, name) if name else last_of(sessions, str(expanded(folder).resolve()))


def _act(session: ClosedSession, args: argparse.Namespace) -> int:
    which = {"files": not args.conversation, "conversation": not args.files, "over_mine": args.over_mine}
    rewind = session.redo(**which) if args.redo else session.undo(args.to, **which)
    if not args.json:
        for line in _shown(session, rewind):
            print(line)
    if rewind.empty:
        if args.json:
            print(json.dumps(_row(rewind, None)))
        return EXIT_FAILED if args.redo or _held_back(rewind) else 0
    if args.dry_run:
        if args.json:
            print(json.dumps(_row(rewind, None)))
        return 0
    if not args.yes and not _agreed(as_json=args.json):
        return EXIT_USAGE
    done = session.carry_out(rewind)
    if args.json:
        print(json.dumps(_row(rewind, done)))
    else:
        for line in _told(rewind, done):
            print(line)
    return EXIT_FAILED if done.failures else 0


def _held_back(rewind: Rewind) -> bool:
    return any(s.verdict is not Verdict.ALREADY for s in rewind.files.steps) if rewind.files else False


def _agreed(*, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        _complain("nothing was done, since nobody can be asked; --yes does it", EXIT_USAGE)
        return False
    sys.stderr.write("Do this? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _shown(session: ClosedSession, rewind: Rewind) -> Iterator[str]:
    name = short_id(session.found.id)
    if rewind.redo:
        yield f"session {name}: take the last undo back"
    else:
        text = next((p.text for p in rewind.taken if p.number == rewind.prompt), "")
        yield f"session {name}: back to before prompt {rewind.prompt}" + (f": {_line(text)}" if text else "")
    steps = rewind.files.steps if rewind.files else ()
    if session.place.folder != session.found.workspace:
        yield f"  in {one_line(session.place.folder)}"
    for step in steps[:FILES_SHOWN]:
        yield f"  {describe(step)}"
    if len(steps) > FILES_SHOWN:
        yield f"  … and {len(steps) - FILES_SHOWN:,} more files"
    if rewind.to_seq >= 0:
        verb = "comes again" if rewind.redo else "is taken back"
        yield f"  the conversation {verb}: {_count(len(rewind.taken), 'prompt')} and all that followed"
    if rewind.files is not None:
        for other in session.place.others:
            yield f"  files that later prompts changed in {one_line(other)} stay; pool undo --files --to N first"
    if rewind.empty:
        yield "  nothing to do"
    if any(s.verdict is Verdict.YOURS for s in steps):
        yield "  files that you changed are left alone; --over-mine puts them back too"


def describe(step: Step) -> str:
    """One file of an undo as a line: what happens to it, its name, and by how many lines."""
    match step.verdict:
        case Verdict.RESTORE if step.target is None:
            verb = "delete"
        case Verdict.RESTORE if step.now is None:
            verb = "create"
        case Verdict.RESTORE:
            verb = "restore"
        case _:
            verb = "leave"
    counts = f"  +{step.added} -{step.removed}" if verb != "leave" else f"  ({one_line(step.why)})"
    return f"{verb:8}{one_line(step.path)}{counts}"


def _told(rewind: Rewind, done: Undone) -> Iterator[str]:
    parts: list[str] = []
    if rewind.files is not None:
        parts.append(f"{_count(len(done.steps), 'file')} put back")
    if rewind.to_seq >= 0:
        parts.append("the conversation goes on from there")
    again = "pool undo" if rewind.redo else "pool undo --redo"
    yield f"done: {', '.join(parts)}; {again} takes this back"
    for failure in done.failures:
        yield f"  not put back: {one_line(failure.path)}: {one_line(failure.why)}"


def _row(rewind: Rewind, done: Undone | None) -> dict[str, Any]:
    steps = rewind.files.steps if rewind.files else ()
    files = [
        {"path": s.path, "verdict": s.verdict.value, "why": s.why, "added": s.added, "removed": s.removed}
        for s in steps
    ]
    row: dict[str, Any] = {"redo": rewind.redo, "prompt": rewind.prompt, "files": files}
    row["prompts"] = [{"number": p.number, "text": p.text} for p in rewind.taken]
    row["done"] = None if done is None else [s.path for s in done.steps]
    row["failures"] = [] if done is None else [{"path": f.path, "why": f.why} for f in done.failures]
    return row


def _line(text: str) -> str:
    first = one_line(text.strip().split("\n")[0])
    return first if len(first) <= PROMPT_CHARS else f"{first[:PROMPT_CHARS]}…"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _complain(text: str, code: int) -> int:
    from pool.headless.sessions import complain

    return complain(text, code, "undo")


def _say(text: str) -> None:
    _complain(text, 0)
