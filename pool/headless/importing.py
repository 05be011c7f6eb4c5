"""`pool import`: trajectories (ATIF) and chat messages (JSONL) become sessions that can be shown and resumed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from pool import __version__
from pool.agent.ids import new_id
from pool.headless.plain import safe
from pool.sessions.export.incoming import ImportProblem
from pool.sessions.export.kept import MOST_BYTES, incoming, keep
from pool.sessions.store import sessions_folder
from pool_tools.home import expanded

EXIT_USAGE = 2


def parser() -> argparse.ArgumentParser:
    """The flags of `pool import`."""
    p = argparse.ArgumentParser(
        prog="pool import",
        description="Make a session of a trajectory (ATIF), or one of each line of chat messages (JSONL). Each gets a "
        "new id, which is printed; pool run -r ID goes on with it. A file with a fault leaves nothing behind.",
        epilog="Exit codes: 0 done, 2 usage, or a file that cannot be imported.",
    )
    p.add_argument("file", help="what pool export --format atif or jsonl writes, or another program; '-': stdin")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="the workspace of the sessions (this folder)")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool import`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    folder, now = sessions_folder(), time.time()
    workspace = expanded(args.dir).resolve()
    if not workspace.is_dir():
        return _refuse(f"the workspace {str(workspace)!r} is no folder; give one with -C DIR")
    try:
        data = _read(args.file)
    except OSError as error:
        return _refuse(f"{args.file!r} cannot be read: {error.strerror}")
    try:
        sessions = incoming(data, now)
    except ImportProblem as problem:
        return _refuse(f"{args.file}: {problem}")
    ids = [new_id() for _ in sessions]
    try:
        keep(sessions, folder, ids, workspace=str(workspace), created=now, pool=__version__)
    except OSError as error:
        return _refuse(f"the sessions cannot be kept: {error.strerror} ({folder})")
    for session, one in zip(ids, sessions, strict=True):
        print(session)
        for note in one.notes:
            sys.stderr.write(safe(f"pool import: {session[-8:]}: {note}", terminal=True) + "\n")
    return 0


def _read(name: str) -> bytes:
    """The file, or one byte more than is taken: what has no end is not read to it."""
    if name == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with open(name, "rb") as file:
        return file.read(MOST_BYTES + 1)


def _refuse(why: str) -> int:
    sys.stderr.write(safe(f"pool import: {why}", terminal=True) + "\n")
    return EXIT_USAGE
