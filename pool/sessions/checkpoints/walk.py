"""Going through a work tree: tracked files, and untracked ones that are not ignored. Ignored folders are not entered.

Nested repositories and submodules have their own index and their own rules. Links are not followed, other file systems
not entered. Git is not started.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pool.sessions.checkpoints.beneath import FOLDER_FLAGS, read_at
from pool.sessions.checkpoints.gitindex import Index, Tracked, UnreadableIndex, read_index
from pool.sessions.checkpoints.gitobjects import ObjectStore
from pool.sessions.checkpoints.ignored import IGNORE_FILE, NEVER_KEPT, Rules
from pool.sessions.checkpoints.repository import DOT_GIT, Repository, repository_at, repository_of
from pool_tools.frozen import frozen

IGNORE_FILE_BYTES = 1024 * 1024
DEEPEST = 128
"""Folders below each other that are entered."""


@frozen
class Scope:
    """One repository, or a folder in none. base is where it begins below the workspace, "" or ending in `/`.

    lead is the way from the top of the repository to the workspace, where the workspace begins below it. tracked has
    paths relative to the workspace; folders are those with something tracked below.
    """

    base: str = ""
    lead: str = ""
    repository: Repository | None = None
    objects: ObjectStore | None = None
    tracked: Mapping[str, Tracked] = field(default_factory=dict[str, Tracked])
    folders: frozenset[str] = frozenset()
    index_ns: int = 0
    index_stamp: tuple[int, int, int] = (0, 0, 0)
    rules: Rules = field(default_factory=Rules)

    def inner(self, path: str) -> str:
        """A path as this repository's rules see it."""
        return self.lead + path[len(self.base) :]


@frozen
class Seen:
    """A file or link that was met. tracked is None for one that is not in an index.

    folder is a handle of the folder that holds it, open until the walk goes on; -1 where there is none.
    """

    path: str
    folder: int
    found: os.stat_result
    tracked: Tracked | None
    scope: Scope


@dataclass(slots=True)
class Walk:
    """One walk. untracked_most: so many untracked files and folders are looked at; with more, none count.

    watch is called with the handle and path of each folder before it is listed. avoid are folders, as device and inode,
    that are left out. problems says what could not be looked at. earlier are the scopes of another walk, whose indexes
    need not be read again unless they changed.
    """

    root: Path
    untracked_most: int
    avoid: frozenset[tuple[int, int]] = frozenset()
    watch: Callable[[int, str], None] | None = None
    untracked: int = 0
    problems: list[str] = field(default_factory=list[str])
    earlier: Mapping[str, Scope] = field(default_factory=dict[str, Scope])
    scopes: dict[str, Scope] = field(default_factory=dict[str, Scope])
    _device: int = 0

    @property
    def too_many(self) -> bool:
        """Whether there were too many untracked files."""
        return self.untracked > self.untracked_most

    def all(self) -> Iterator[Seen]:
        """Everything. Raises `OSError` if the root cannot be opened."""
        scope = self.top_scope()
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._device = os.fstat(handle).st_dev
        yield from self._folder(handle, "", scope, scope.rules, 0)

    def top_scope(self) -> Scope:
        """The scope of the workspace itself."""
        return self.scopes.get("") or self._first_scope()

    def below(self, root: int, path: str) -> Iterator[Seen]:
        """Everything below the folder at path; nothing if it is gone, ignored or no folder."""
        self._device = os.fstat(root).st_dev
        scope, rules, here, so_far = self.scopes[""], self.scopes[""].rules, os.dup(root), ""
        parts = path.split("/")
        try:
            for part in parts:
                if so_far:
                    rules = rules.more(scope.inner(so_far), _rules_in(here))
                name = so_far + part
                if not self._enters(name, part, scope, rules):
                    return
                below = os.open(part, FOLDER_FLAGS, dir_fd=here)
                os.close(here)
                here, so_far = below, name + "/"
                scope = self.scopes.get(so_far, scope)
                rules = scope.rules if scope.base == so_far else rules
            listed, here = here, -1
            yield from self._folder(listed, so_far, scope, rules, len(parts))
        except OSError:
            return
        finally:
            if here >= 0:
                os.close(here)

    def takes(self, root: int, path: str) -> Seen | None:
        """The file or link at path, if it counts."""
        *folders, name = path.split("/")
        scope, rules, here, so_far = self.scopes[""], self.scopes[""].rules, os.dup(root), ""
        try:
            for folder in folders:
                rules = rules.more(scope.inner(so_far), _rules_in(here)) if so_far else rules
                if not self._enters(so_far + folder, folder, scope, rules):
                    return None
                below = os.open(folder, FOLDER_FLAGS, dir_fd=here)
                os.close(here)
                here, so_far = below, f"{so_far}{folder}/"
                if so_far in self.scopes:
                    scope = self.scopes[so_far]
                    rules = scope.rules
            found = os.stat(name, dir_fd=here, follow_symlinks=False)
            rules = rules.more(scope.inner(so_far), _rules_in(here)) if so_far else rules
        except OSError:
            return None
        finally:
            os.close(here)
        tracked = scope.tracked.get(path)
        counts = tracked is not None or not (self.too_many or rules.ignore(scope.inner(path), folder=False))
        return Seen(path, -1, found, tracked, scope) if counts and is_kept(found.st_mode) else None

    def _folder(self, handle: int, path: str, scope: Scope, rules: Rules, depth: int) -> Iterator[Seen]:
        below: list[str] = []
        try:
            found = os.fstat(handle)
            if found.st_dev != self._device:
                self.problems.append(f"{path}: another file system")
                return
            if (found.st_dev, found.st_ino) in self.avoid or depth > DEEPEST:
                return
            if self.watch is not None:
                self.watch(handle, path)
            with os.scandir(handle) as scan:
                entries = list(scan)
            names = {entry.name for entry in entries}
            if path and DOT_GIT in names:
                scope = self._nested(path) or scope
                rules = scope.rules if scope.base == path else rules
            elif path and IGNORE_FILE in names:
                rules = rules.more(scope.inner(path), _rules_in(handle))
            tracked = scope.tracked
            for entry in entries:
                name = path + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if self._enters(name, entry.name, scope, rules):
                        below.append(entry.name)
                    continue
                known = tracked.get(name)
                if known is None and not self._counts(name, scope, rules):
                    continue
                state = entry.stat(follow_symlinks=False)
                if is_kept(state.st_mode):
                    yield Seen(name, handle, state, known, scope)
            for each in below:
                try:
                    inner = os.open(each, FOLDER_FLAGS, dir_fd=handle)
                except OSError as error:
                    self.problems.append(f"{path}{each}: {error.strerror}")
                    continue
                yield from self._folder(inner, f"{path}{each}/", scope, rules, depth + 1)
        except OSError as error:
            self.problems.append(f"{path or '.'}: {error.strerror}")
        finally:
            os.close(handle)

    def _enters(self, path: str, name: str, scope: Scope, rules: Rules) -> bool:
        if name == DOT_GIT:
            return False
        if path in scope.folders:
            return True
        if self.too_many or name in NEVER_KEPT or rules.ignore(scope.inner(path), folder=True):
            return False
        self.untracked += 1
        return True

    def _counts(self, path: str, scope: Scope, rules: Rules) -> bool:
        if self.too_many or rules.ignore(scope.inner(path), folder=False):
            return False
        self.untracked += 1
        return not self.too_many

    def _first_scope(self) -> Scope:
        repository = repository_of(self.root)
        if repository is None:
            scope = Scope(rules=Rules().more("", _rules_at(self.root)))
        else:
            lead = "".join(f"{part}/" for part in self.root.relative_to(repository.top).parts)
            rules = Rules().more("", repository.exclude_rules()).more("", _rules_at(repository.top))
            here = ""
            for part in lead.split("/")[:-1]:
                here = f"{here}{part}/"
                rules = rules.more(here, _rules_at(repository.top / here))
            scope = self._scope("", lead, repository, rules)
        self.scopes[""] = scope
        return scope

    def _nested(self, path: str) -> Scope | None:
        """The scope of a repository below the workspace, None if there is only something named `.git`."""
        top = self.root / path
        repository = repository_at(top)
        if repository is None:
            return None
        rules = Rules().more("", repository.exclude_rules()).more("", _rules_at(top))
        self.scopes[path] = self._scope(path, "", repository, rules)
        return self.scopes[path]

    def _scope(self, base: str, lead: str, repository: Repository, rules: Rules) -> Scope:
        stamp = _stamp(repository.index)
        before = self.earlier.get(base)
        if before is not None and before.repository != repository:
            before = None
        if before is not None and before.index_stamp == stamp:
            return replace(before, rules=rules)
        try:
            index = read_index(repository.index, repository.oid_bytes)
        except UnreadableIndex as error:
            self.problems.append(f"{base or '.'}: git's index: {error}")
            index = Index({}, 0)
        tracked = {base + p[len(lead) :]: entry for p, entry in index.entries.items() if p.startswith(lead)}
        objects = before.objects if before else None
        if objects is None:
            objects = ObjectStore(repository.objects, repository.oid_bytes)
        objects.open_packs()
        folders = _folders_of(tracked)
        return Scope(base, lead, repository, objects, tracked, folders, index.written_ns, stamp, rules)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_size, found.st_mtime_ns, found.st_ino


def _folders_of(paths: Mapping[str, Tracked]) -> frozenset[str]:
    out: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in out:
            out.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(out)


def _rules_at(folder: Path) -> bytes:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return _rules_in(handle)
    finally:
        os.close(handle)


def _rules_in(folder: int) -> bytes:
    found = read_at(folder, IGNORE_FILE, IGNORE_FILE_BYTES)
    return found[0] if found and stat.S_ISREG(found[1].st_mode) else b""


def is_kept(mode: int) -> bool:
    """Whether something of this mode is kept: files and links are."""
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
