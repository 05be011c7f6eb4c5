"""Where the repository of a folder keeps its index, its objects and its ignore rules; found without starting git.

A `.git` file can come with a checkout and name any folder. So nothing of what is found there is trusted: an index is
only a list of hints, and an object counts only if its content fits its id.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.home import expanded, home

DOT_GIT = ".git"
_POINTER = b"gitdir: "
_SMALL_BYTES = 64 * 1024
_SHA256 = re.compile(rb"^\s*objectformat\s*=\s*sha256\s*$", re.IGNORECASE | re.MULTILINE)
_EXCLUDES = re.compile(rb"^\s*excludesfile\s*=\s*\"?(.+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


@frozen
class Repository:
    """top is the work tree, folder its own git folder (of a linked worktree: its own), common the shared one."""

    top: Path
    folder: Path
    common: Path
    oid_bytes: int

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def objects(self) -> Path:
        return self.common / "objects"

    def exclude_rules(self) -> bytes:
        """Ignore rules that lie in no work tree: the user's own, then the repository's; later ones win."""
        return b"\n".join([_user_rules(self.common), _small(self.common / "info" / "exclude")])


def repository_at(top: Path) -> Repository | None:
    """The repository whose work tree begins at top, None if none does."""
    dot_git = top / DOT_GIT
    if dot_git.is_dir():
        folder = dot_git
    else:
        line = _small(dot_git).split(b"\n", 1)[0].strip()
        if not line.startswith(_POINTER):
            return None
        folder = Path(os.path.normpath(top / os.fsdecode(line[len(_POINTER) :])))
    if not (folder / "HEAD").is_file():
        return None
    shared = _small(folder / "commondir").strip()
    common = Path(os.path.normpath(folder / os.fsdecode(shared))) if shared else folder
    if not (common / "objects").is_dir():
        return None
    sha256 = _SHA256.search(_small(common / "config"))
    return Repository(top, folder, common, 32 if sha256 else 20)


def repository_of(folder: Path) -> Repository | None:
    """The repository that a folder is in."""
    for top in (folder, *folder.parents):
        if os.path.lexists(top / DOT_GIT) and (found := repository_at(top)):
            return found
    return None


def _user_rules(common: Path) -> bytes:
    own = home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or own / ".config") / "git"
    path = config / "ignore"
    for file in (own / ".gitconfig", config / "config", common / "config"):
        if found := _EXCLUDES.search(_small(file)):
            path = expanded(os.fsdecode(found[1]))
    return _small(path)


def _small(path: Path) -> bytes:
    """The beginning of a regular file, b"" if it is none."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_SMALL_BYTES)
    except OSError:
        return b""
