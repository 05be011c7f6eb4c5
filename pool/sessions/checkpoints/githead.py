"""The files of the commit that is checked out, from git's own files, without a git process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pool.sessions.checkpoints.gitobjects import NoObject, ObjectStore
from pool.sessions.checkpoints.repository import Repository
from pool_tools.frozen import frozen

_REF_BYTES = 4_096
_LINKS_MOST = 5
_HEX = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FOLDER = 0o040000
_GITLINK = 0o160000


@frozen
class Committed:
    """A file of a commit: mode as in the tree, id of its blob."""

    mode: int
    oid: bytes


def head_commit(repository: Repository) -> bytes | None:
    """The id of the commit that is checked out, None if there is none yet. Raises `NoObject` if it cannot be found."""
    text = _small(repository.folder / "HEAD")
    for _ in range(_LINKS_MOST):
        if _HEX.fullmatch(text):
            return bytes.fromhex(text.decode())
        if not text.startswith(b"ref: "):
            break
        name = text[len(b"ref: ") :].decode("utf-8", "surrogateescape").strip()
        if ".." in name or name.startswith("/"):
            break
        text = _small(repository.folder / name) or _small(repository.common / name) or _packed(repository, name)
        if not text:
            if (repository.common / "reftable").is_dir():
                raise NoObject("this repository keeps its branches in a form that cannot be read here (reftable)")
            return None
    raise NoObject("HEAD cannot be read")


def files_of(objects: ObjectStore, commit: bytes, lead: str) -> Iterator[tuple[str, Committed]]:
    """The files of a commit below lead ("" or ending in `/`), by their paths from there. Raises `NoObject`."""
    kind, data = objects.get(commit)
    line = data.split(b"\n", 1)[0]
    if kind != b"commit" or not line.startswith(b"tree "):
        raise NoObject(f"{commit.hex()} is no commit")
    yield from _tree(objects, bytes.fromhex(line[5:].decode()), "", lead)


def _tree(objects: ObjectStore, oid: bytes, path: str, lead: str) -> Iterator[tuple[str, Committed]]:
    kind, data = objects.get(oid)
    if kind != b"tree":
        raise NoObject(f"{oid.hex()} is no tree")
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        mode = int(data[at:space], 8)
        name = path + data[space + 1 : end].decode("utf-8", "surrogateescape")
        child = data[end + 1 : end + 1 + objects.oid_bytes]
        at = end + 1 + objects.oid_bytes
        if mode == _FOLDER:
            if f"{name}/".startswith(lead) or lead.startswith(f"{name}/"):
                yield from _tree(objects, child, f"{name}/", lead)
        elif mode != _GITLINK and name.startswith(lead):
            yield name[len(lead) :], Committed(mode, child)


def _packed(repository: Repository, name: str) -> bytes:
    wanted = name.encode("utf-8", "surrogateescape")
    try:
        lines = (repository.common / "packed-refs").read_bytes().splitlines()
    except OSError:
        return b""
    return next((line.split(b" ")[0] for line in lines if line.endswith(b" " + wanted)), b"")


def _small(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_REF_BYTES).strip()
    except OSError:
        return b""
