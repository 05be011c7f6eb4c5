"""Contents in and out of git's objects, through the sandbox: files in a scratch folder, many for each process."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence

from pool.agent.gitwork.errors import GitWorkError
from pool.agent.gitwork.opening import ARGUMENT_PATHS, RepoGit
from pool_tools.git.runner import Output
from pool_tools.scratch import Scratch

READ_MOST = 64 * 1024 * 1024
"""Larger contents are not taken apart into lines."""

# $1 and $2 say where to put what is read and how to read it, then come the objects.
_READ = """
d=$1 how=$2 i=0
shift 2
for name; do
  case $how in
  filters) git --no-pager cat-file --filters "$name" > "$d-$i" 2>/dev/null;;
  *) git --no-pager cat-file blob "$name" > "$d-$i" 2>/dev/null;;
  esac || rm -f "$d-$i"
  i=$((i+1))
done
:
"""

# $1 is how, $2 where the contents are, then come the paths as whose contents they are kept.
_WRITE = """
d=$1 how=$2 i=0
shift 2
for path; do
  case $how in
  filters) git hash-object -w "--path=$path" -- "$d-$i" || exit 1;;
  *) git hash-object -w --no-filters -- "$d-$i" || exit 1;;
  esac
  i=$((i+1))
done
"""


async def read_blobs(repo: RepoGit, names: Sequence[str], *, filtered: bool) -> list[bytes | None]:
    """The contents of objects, each None where there is none. filtered: `REV:PATH`, as a checkout would write it."""
    out: list[bytes | None] = []
    scratch = repo.git.commands.scratch()
    for at in range(0, len(names), ARGUMENT_PATHS):
        part = names[at : at + ARGUMENT_PATHS]
        lead = f"read-{secrets.token_hex(8)}"
        how = "filters" if filtered else "blob"
        await repo.script("git cat-file", _READ, "sh", scratch.path(lead), how, *part)
        out += [_taken(scratch, f"{lead}-{number}") for number in range(len(part))]
    return out


async def write_blobs(repo: RepoGit, items: Sequence[tuple[str, bytes]], *, filtered: bool) -> list[str]:
    """Keep contents as objects; their names. filtered: as `git add` would keep the file of that path."""
    out: list[str] = []
    scratch = repo.git.commands.scratch()
    for at in range(0, len(items), ARGUMENT_PATHS):
        part = items[at : at + ARGUMENT_PATHS]
        lead = f"write-{secrets.token_hex(8)}"
        try:
            for number, (_, data) in enumerate(part):
                with open(scratch.open(f"{lead}-{number}"), "wb") as file:
                    file.write(data)
            how = "filters" if filtered else "blob"
            done = await repo.script("git hash-object", _WRITE, "sh", scratch.path(lead), how, *(p for p, _ in part))
        finally:
            for number in range(len(part)):
                scratch.remove(scratch.path(f"{lead}-{number}"))
        # A filter may have complained in between.
        named = [line for line in done.text.split("\n") if len(line) in (40, 64) and line.isalnum()]
        if len(named) != len(part):
            raise GitWorkError(f"git hash-object said something else than expected: {done.line}")
        out += named
    return out


async def update_index(repo: RepoGit, rows: Sequence[str]) -> None:
    """Change entries of the index, given as `git update-index --index-info` reads them. Raises `GitWorkError`."""
    await fed(repo, rows, "update-index", "-z", "--index-info", codes=(0,))


async def fed(repo: RepoGit, records: Sequence[str], *args: str, codes: Sequence[int]) -> Output:
    """Run git with NUL-ended records as its input. Raises `GitWorkError` if its exit status is none of codes."""
    scratch = repo.git.commands.scratch()
    name = f"input-{secrets.token_hex(8)}"
    with open(scratch.open(name), "wb") as file:
        file.write(b"".join(os.fsencode(record) + b"\0" for record in records))
    try:
        output = await repo.git.script('f=$1; shift; exec git --no-pager "$@" < "$f"', "sh", scratch.path(name), *args)
    finally:
        scratch.remove(scratch.path(name))
    return output if output.status in codes else repo.checked(f"git {args[0]}", output)


def _taken(scratch: Scratch, name: str) -> bytes | None:
    """A file that a command left, never by a link; it is removed."""
    path = scratch.folder / name
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        data = file.read(READ_MOST + 1)
    with contextlib.suppress(OSError):
        path.unlink()
    return data if len(data) <= READ_MOST else None
