"""`pool commit`: commit what a session changed, with a message from the diff, shown first."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from pool.agent.approvals import NobodyThere
from pool.agent.configured import settings_for
from pool.agent.factory import Session, open_session
from pool.agent.gitwork.committing import Committed
from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.message import Written, write_message, written_by_rule
from pool.agent.gitwork.opening import RepoGit, open_repository
from pool.agent.gitwork.proposal import CommitProposal
from pool.agent.gitwork.sessionwork import commit_work, propose_work
from pool.agent.gitwork.style import read_style
from pool.config.load import flag_values
from pool.config.settings import Settings, SettingsError
from pool.events import CommitMade, Envelope, Event
from pool.headless.asking import agreed
from pool.headless.configured import as_text, folder_of, tell
from pool.headless.hunks import choose, overview
from pool.headless.plain import one_line, safe
from pool.headless.undo import session_named
from pool.sessions.log import SessionBusy, SessionLog, read_rows
from pool.sessions.places import place_of
from pool.sessions.replay import resumed
from pool.sessions.store import Listed, NoSuchSession, short_id
from pool.wire.errors import ServerProblem
from pool_tools.api import Confirm, Step
from pool_tools.git.signing import refuse
from pool_tools.text import plural

PROGRAM = "pool commit"
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_DENIED = 7

SERVER_SECONDS = 3.0
"""How long a server that does not answer is waited for: a message can be had without one."""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool commit`."""
    p = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Commit what the agent changed in a session; your own changes and what you have staged stay as "
        "they are. The model writes the message from the diff, in the repository's manner; it is shown first.",
        epilog="Exit codes: 0 committed or shown, 1 git or a hook refused, 2 usage or nobody to ask, 7 signing denied.",
    )
    p.add_argument("session", nargs="?", default="", help="beginning or end of its id (default: this folder's last)")
    p.add_argument("-m", "--message", metavar="MSG", default="", help="the message (default: proposed)")
    p.add_argument("--all", action="store_true", help="everything that differs from the last commit, yours too")
    p.add_argument("--hunks", action="store_true", help="ask about each change, as git add -p does")
    p.add_argument("--no-model", action="store_true", help="propose a message by rule, ask no model")
    p.add_argument("--assisted-by", action="store_true", help="add an Assisted-by: trailer that names the model")
    p.add_argument("--sign", action="store_true", help="sign without asking, where your git settings sign commits")
    p.add_argument("-n", "--dry-run", action="store_true", help="only show what would be committed")
    p.add_argument("-y", "--yes", action="store_true", help="do not ask")
    p.add_argument("--base-url", metavar="URL", help="server for the message (default: configured, or the session's)")
    p.add_argument("--model", metavar="ID", help="model for the message")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the workspace (default: this folder)")
    p.add_argument("--json", action="store_true", help="one JSON object")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool commit`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        return asyncio.run(_act(args))
    except (NoSuchSession, SettingsError) as error:
        return _complain(str(error), EXIT_USAGE)
    except GitWorkError as error:
        return _complain(str(error), EXIT_DENIED if error.denied else EXIT_FAILED)
    except OSError as error:
        return _complain(f"{error.strerror}: {error.filename}" if error.filename else str(error), EXIT_FAILED)


async def _act(args: argparse.Namespace) -> int:
    found = _found(args)
    workspace = _workspace(args, found)
    settings = _settings(args, workspace, found)
    async with open_repository(settings) as repo:
        session = found.id if found else ""
        proposal = await propose_work(repo, session, workspace, everything=args.all)
        chosen = choose(proposal) if args.hunks and sys.stdin.isatty() and not args.json else proposal.chosen
        if not chosen:
            return _nothing(args, proposal)
        written = await _written(args, repo, settings, found, proposal, chosen)
        if not args.json:
            for line in shown(proposal, chosen, written):
                print(safe(line, terminal=sys.stdout.isatty()))
        if args.dry_run:
            return _told(args, proposal, chosen, written, None)
        if not args.yes and not _agreed(as_json=args.json):
            return EXIT_USAGE
        wanted = args.assisted_by or settings.assisted_by
        assisted = (_model_of(found) or settings.model) if wanted else ""
        made = await commit_work(
            repo, proposal, chosen, written.text, confirm_for(sign=args.sign), assisted_by=assisted
        )
        if found is not None:
            _log(found, proposal, made)
        return _told(args, proposal, chosen, written, made)


def _workspace(args: argparse.Namespace, found: Listed | None) -> Path:
    """The folder whose changes are committed; others that the session worked in are told."""
    here = folder_of(args.dir)
    if found is None:
        return here
    rows, _ = read_rows(found.path.read_bytes())
    place = place_of(rows, found.workspace, str(here))
    for other in place.others:
        _complain(f"the session worked in {other} too: {PROGRAM} {short_id(found.id)} -C {shlex.quote(other)}", 0)
    return Path(place.folder)


def _log(found: Listed, proposal: CommitProposal, made: Committed) -> None:
    """Note the commit in the session's log; one that is open elsewhere does without."""
    with contextlib.suppress(SessionBusy, OSError):
        log, rows, _ = SessionLog.reopen(found.path, lambda text: None)
        with log:
            body = CommitMade(made.commit, proposal.branch, made.subject, made.files)
            seq = resumed(rows).next_seq
            log.append(Event(Envelope(found.id, "", 0, seq, time.time(), time.monotonic()), body))


def _found(args: argparse.Namespace) -> Listed | None:
    """The session that is meant; None with `--all` where there is none."""
    try:
        return session_named(args.session, args.dir)
    except NoSuchSession:
        if args.session or not args.all:
            raise
        return None


def _settings(args: argparse.Namespace, workspace: Path, found: Listed | None) -> Settings:
    given = {"server.base_url": args.base_url, "server.model": as_text(args.model or "")}
    wants_model = not (args.message or args.no_model)
    loaded = settings_for(workspace, os.environ, flag_values(given), with_key=wants_model)
    tell(loaded.warnings, PROGRAM)
    settings = replace(loaded.settings, first_contact_seconds=SERVER_SECONDS, wait_server_seconds=SERVER_SECONDS)
    if found is not None and not settings.base_url:
        server, model = _served_by(found)
        settings = replace(settings, base_url=server, model=settings.model or model)
    return settings


async def _written(
    args: argparse.Namespace,
    repo: RepoGit,
    settings: Settings,
    found: Listed | None,
    proposal: CommitProposal,
    chosen: Collection[int],
) -> Written:
    """The message: as given, by the session's model, or by rule."""
    if args.message:
        return Written(as_text(args.message), "given")
    style = await read_style(repo)
    if args.no_model or found is None:
        return written_by_rule(proposal, chosen, style)
    try:
        async with _reopened(settings, found) as session:
            return await write_message(session, proposal, chosen, style)
    except (SettingsError, ServerProblem) as problem:
        return written_by_rule(proposal, chosen, style, f"the model could not be asked: {problem}")


@asynccontextmanager
async def _reopened(settings: Settings, found: Listed) -> AsyncGenerator[Session]:
    """The session, to ask its model one thing: its prompt is what the server may still have cached."""
    async with open_session(replace(settings, resume=found.id), NobodyThere()) as session:
        try:
            yield session
        finally:
            session.hub.close()


def _served_by(found: Listed) -> tuple[str, str]:
    """The server and model of a session's last run, "" and "" for none."""
    with contextlib.suppress(OSError):
        rows, _ = read_rows(found.path.read_bytes())
        for row in reversed(rows):
            if row.get("type") == "run.started":
                return str(row.get("server", "")), str(row.get("model", ""))
    return "", ""


def _model_of(found: Listed | None) -> str:
    return _served_by(found)[1] if found else ""


def confirm_for(*, sign: bool) -> Confirm:
    """Who is asked before something is signed: nobody if sign, else the person at the terminal, if there is one."""

    async def yes(step: Step) -> str:
        return ""

    async def person(step: Step) -> str:
        sys.stderr.write(safe(f"\n{step.preview.title}\n{step.preview.body}\n", terminal=True))
        return "" if agreed("Sign it?") else "You said no."

    if sign:
        return yes
    return person if sys.stdin.isatty() else refuse


def shown(proposal: CommitProposal, chosen: Collection[int], written: Written) -> list[str]:
    """A proposal as lines: the message, where it came from, the files."""
    lines = [f"    {one_line(line)}" for line in written.text.split("\n")]
    said = {"rule": "  (message by rule)", "model": "  (message by the model)"}.get(written.by, "")
    if written.note:
        said = f"  (message by rule: {one_line(written.note)})"
    elif written.price is not None:
        said = f"  (message by the model: {written.price.words})"
    return [*lines, *([said] if said else []), "", *overview(proposal, chosen)]


def _nothing(args: argparse.Namespace, proposal: CommitProposal) -> int:
    others = len(proposal.hunks)
    more = f"; not the agent's: {plural(others, 'change')} (--all takes them)" if others and not args.hunks else ""
    for line in overview(proposal, ()):
        sys.stderr.write(f"{safe(line, terminal=True)}\n")
    last = "" if args.session else " in the last session here (pool sessions lists others: pool commit ID)"
    return _complain(f"nothing that the agent changed is left to commit{last}{more}", EXIT_FAILED)


def _told(
    args: argparse.Namespace,
    proposal: CommitProposal,
    chosen: Collection[int],
    written: Written,
    made: Committed | None,
) -> int:
    if args.json:
        row = {
            "commit": made.commit if made else "",
            "branch": proposal.branch,
            "message": written.text,
            "message_by": written.by,
            "files": [file.path for file in proposal.files if file.with_hunks(chosen)],
            "left_out": dict(proposal.left_out),
            "notes": [*proposal.notes, *(made.notes if made else ())],
            "signed": made.signed if made else False,
        }
        print(json.dumps(row, ensure_ascii=True))
    elif made is not None:
        for line in made_lines(made):
            print(safe(line, terminal=sys.stdout.isatty()))
    return 0


def made_lines(made: Committed) -> list[str]:
    """A commit that was made, as lines."""
    signed = ", signed" if made.signed else ""
    return [f"committed {short_commit(made.commit)}{signed}: {one_line(made.subject)}", *made.notes]


def short_commit(commit: str) -> str:
    """The beginning of a commit's id."""
    return commit[:10]


def _agreed(*, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        _complain("nothing was committed, since nobody can be asked; --yes does it", EXIT_USAGE)
        return False
    return agreed("Commit this?")


def _complain(text: str, code: int) -> int:
    sys.stderr.write(safe(f"{PROGRAM}: {text}", terminal=True) + "\n")
    return code
