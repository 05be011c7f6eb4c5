"""Files in a workspace that hold keys or passwords, by their names, and those of them that commands are not shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from pool_tools.gitindex import Unreadable, keeps, repository_of
from pool_tools.globs import compile_glob
from pool_tools.walk import DEPENDENCY_FOLDERS, REPOSITORY_FOLDERS

SECRET_NAMES = (
    ".env", ".env.*", ".envrc", ".netrc", ".pgpass", ".pypirc", ".htpasswd", ".git-credentials", ".vault-token",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "credentials.json", "service-account*.json", "secrets.{json,toml,yaml,yml}",
)  # fmt: skip

_KEYS = re.compile(r"id_[a-z0-9_]+")
"""Private keys of ssh: without an ending, so that `id_map.py` and `id_rsa.pub` are none."""

_HARMLESS = re.compile(r".*[._-](example|sample|template|dist|defaults)")
"""Endings of files that show what a secret one looks like."""

FOLDERS_DEEP = 4
MOST_FOLDERS = 2_000
MOST_FILES = 50
"""So far files are looked for at a session's start, and so many are hidden: each costs a command some 0.1 ms."""

_NAMES = tuple(compile_glob(name) for name in SECRET_NAMES)


def looks_secret(name: str) -> bool:
    """Whether a file's name, without its folder, says that it holds keys or passwords."""
    low = name.casefold()
    if _HARMLESS.fullmatch(low):
        return False
    return _KEYS.fullmatch(low) is not None or any(pattern.fullmatch(low) for pattern in _NAMES)


def is_secret_file(path: str) -> bool:
    """Whether a path is such a file that is there, by its name or by what a link leads to."""
    try:
        return os.path.isfile(path) and (
            looks_secret(os.path.basename(path)) or looks_secret(os.path.basename(os.path.realpath(path)))
        )
    except ValueError:  # no path at all: a NUL character
        return False


class HiddenFiles(Collection[Path]):
    """Secret files that commands do not see, as long as nobody has allowed it. Iterated anew for every command.

    Those that git keeps are no secrets any more; hidden, they would look emptied to it.
    """

    def __init__(self, root: Path) -> None:
        self.allowed: Callable[[Path], bool] = lambda path: False
        self._files = tuple(_found(root))
        self._shown: set[Path] = set()

    def show(self, path: Path) -> None:
        """Let commands see a file from now on."""
        self._shown.add(Path(os.path.realpath(path)))

    def __iter__(self) -> Iterator[Path]:
        return (path for path in self._files if path not in self._shown and not self.allowed(path))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, path: object) -> bool:
        return any(path == hidden for hidden in self)


def _found(root: Path) -> Iterator[Path]:
    """Real paths of secret files below root that git does not keep."""
    top = os.path.realpath(root)
    left = MOST_FILES
    for number, (folder, folders, names) in enumerate(os.walk(top)):
        if number == MOST_FOLDERS:
            return
        deep = folder.count(os.sep) - top.count(os.sep)
        skipped = (*REPOSITORY_FOLDERS, *DEPENDENCY_FOLDERS)
        folders[:] = sorted(name for name in folders if name not in skipped) if deep < FOLDERS_DEEP else []
        for name in sorted(names):
            path = os.path.join(folder, name)
            if looks_secret(name) and os.path.isfile(path) and not os.path.islink(path) and not _kept_by_git(path):
                yield Path(path)
                left -= 1
                if not left:
                    return


def _kept_by_git(path: str) -> bool:
    """Whether the repository around a file has it in its index; an index too large to be read is taken to.

    One that was added while it was hidden is there without content, and is a secret still.
    """
    folder = repository_of(path)
    if folder is None:
        return False
    try:
        return keeps(Path(folder, ".git"), os.fsencode(os.path.relpath(path, folder)))
    except Unreadable:
        return True


def left_out(names: Sequence[str]) -> str:
    """What to say where such files were not searched."""
    return f"left out, as they look like secrets: {', '.join(names)}; name one as path to ask the user"
