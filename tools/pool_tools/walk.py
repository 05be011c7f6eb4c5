"""Walking through folders: sorted, ignoring what `.gitignore` says, never through links, bounded in depth."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pool_tools.frozen import frozen
from pool_tools.limits import WALK_DEPTH

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
"""Files with rules of what to leave out; later ones win. The same that ripgrep reads."""

REPOSITORY_FOLDERS = (".git", ".hg", ".svn", ".jj")
"""Never walked into."""

DEPENDENCY_FOLDERS = (
    "node_modules",
    "bower_components",
    "__pycache__",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".terraform",
)
"""Walked into only where an ignore file decides what to leave out, or when named."""

_IGNORE_FILE_BYTES = 1024 * 1024
_LIST_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class Entry:
    """Something in a folder. path is relative to where the walk began its names; link is a link's target, else ""."""

    path: str
    is_folder: bool
    is_file: bool
    link: str = ""


@frozen
class _Rules:
    base: str
    spec: GitIgnoreSpec


@dataclass(slots=True)
class Walker:
    """One walk below a folder.

    prefix is put before all paths (the folder's own path, without a final `/`). Afterwards skipped holds the dependency
    folders that were left out, and too_deep whether some folders lay too far down.
    """

    prefix: str = ""
    max_depth: int = WALK_DEPTH
    skip_dependencies: bool = False
    skipped: set[str] = field(default_factory=set[str])
    too_deep: bool = False

    def walk(self, handle: int, root_rules: bytes = b"") -> Iterator[Entry]:
        """All entries below the folder handle, each folder before what is in it, by the bytes of their names.

        root_rules are ignore rules that apply from the top of the workspace.
        """
        rules = _parse("", root_rules) if root_rules.strip() else []
        yield from self._folder(os.open(".", _LIST_FLAGS, dir_fd=handle), self.prefix, rules, 1)

    def _folder(self, handle: int, path: str, rules: list[_Rules], depth: int) -> Iterator[Entry]:
        try:
            with os.scandir(handle) as scan:
                found = sorted(scan, key=lambda e: os.fsencode(e.name))
            own = read_rules(handle, {e.name for e in found})
            rules = [*rules, *_parse(path, own)] if own else rules
            for entry in found:
                below = f"{path}/{entry.name}" if path else entry.name
                yield from self._entry(handle, entry, below, rules, depth)
        except OSError:
            return
        finally:
            os.close(handle)

    def _entry(
        self, handle: int, entry: os.DirEntry[str], path: str, rules: list[_Rules], depth: int
    ) -> Iterator[Entry]:
        is_folder = entry.is_dir(follow_symlinks=False)
        if (is_folder and self._left_out(entry.name)) or _ignored(path, is_folder, rules):
            return
        if entry.is_symlink():
            yield Entry(path, False, False, os.readlink(entry.name, dir_fd=handle))
            return
        yield Entry(path, is_folder, entry.is_file(follow_symlinks=False))
        if not is_folder:
            return
        if depth >= self.max_depth:
            self.too_deep = True
            return
        try:
            below = os.open(entry.name, _LIST_FLAGS, dir_fd=handle)
        except OSError:
            return
        yield from self._folder(below, path, rules, depth + 1)

    def _left_out(self, name: str) -> bool:
        if name in REPOSITORY_FOLDERS:
            return True
        if self.skip_dependencies and name in DEPENDENCY_FOLDERS:
            self.skipped.add(name)
            return True
        return False


def read_rules(folder: int, names: set[str] | None = None) -> bytes:
    """The ignore files of a folder, joined; b"" if it has none. names are the names in it, if known."""
    out: list[bytes] = []
    for name in IGNORE_FILES:
        if names is not None and name not in names:
            continue
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            continue
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                out.append(os.read(handle, _IGNORE_FILE_BYTES))
        finally:
            os.close(handle)
    return b"\n".join(out)


def ignores(rules: bytes, folder: str) -> bool:
    """Whether rules of the top leave out the folder at this path from the top."""
    return bool(rules.strip()) and _ignored(folder, True, _parse("", rules))


def _parse(base: str, rules: bytes) -> list[_Rules]:
    if not rules.strip():
        return []
    from pathspec import GitIgnoreSpec

    lines = rules.decode("utf-8", "surrogateescape").splitlines()
    return [_Rules(base, GitIgnoreSpec.from_lines(lines))]


def _ignored(path: str, is_folder: bool, rules: list[_Rules]) -> bool:
    """What the deepest rules say that say anything; later rules in a file win."""
    for rule in reversed(rules):
        relative = path[len(rule.base) + 1 :] if rule.base else path
        verdict = rule.spec.check_file(relative + "/" if is_folder else relative).include
        if verdict is not None:
            return verdict
    return False
