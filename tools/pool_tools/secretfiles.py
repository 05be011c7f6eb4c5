"""Files in a workspace that hold keys or passwords, by their names, and those of them that commands are not shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from pool_tools.gitindex import Unreadable, keeps, object_names, repository_of
from pool_tools.globs import compile_glob
from pool_tools.hiddenbefore import HiddenBefore
from pool_tools.sandbox.gitfiles import read_regular
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

MOST_COMPARED_BYTES = 4 * 1024 * 1024
"""A larger file that was hidden once stays hidden."""

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

    Those that git keeps are no secrets any more; hidden, they would look emptied to it. before: the file that remembers
    what earlier sessions hid.
    """

    def __init__(self, root: Path, before: Path | None = None) -> None:
        self.allowed: Callable[[Path], bool] = lambda path: False
        earlier = HiddenBefore(before)
        shown: list[str] = []
        self._files = tuple(_found(root, earlier, shown))
        earlier.keep([str(path) for path in self._files], shown)
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


def _found(root: Path, earlier: HiddenBefore, shown: list[str]) -> Iterator[Path]:
    """Real paths of secret files below root that git does not keep. shown gets those that it does."""
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
            if looks_secret(name) and os.path.isfile(path) and not os.path.islink(path):
                if _kept_by_git(path, whole=earlier.has(path)):
                    shown.append(path)
                    continue
                yield Path(path)
                left -= 1
                if not left:
                    return


def _kept_by_git(path: str, *, whole: bool) -> bool:
    """Whether the repository around a file has it in its index; an index too large to be read is taken to.

    One that was added while it was hidden is there without content, and is a secret still. whole: it must be there as
    it is now, which nobody can pretend who has not seen it.
    """
    folder = repository_of(path)
    if folder is None:
        return False
    try:
        kept = keeps(Path(folder, ".git"), os.fsencode(os.path.relpath(path, folder)))
    except Unreadable:
        return not whole
    return not kept.isdisjoint(_objects(path)) if whole else bool(kept)


def _objects(path: str) -> frozenset[bytes]:
    """What git may call a file as it is, with line ends converted or not; nothing for a large one."""
    try:
        _, data = read_regular(Path(path), MOST_COMPARED_BYTES)
    except OSError:
        return frozenset()
    return frozenset() if data is None else object_names(data) | object_names(data.replace(b"\r\n", b"\n"))


def left_out(names: Sequence[str]) -> str:
    """What to say where such files were not searched."""
    return f"left out, as they look like secrets: {', '.join(names)}; name one as path to ask the user"
