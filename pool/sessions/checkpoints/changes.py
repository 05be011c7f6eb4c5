"""What a run, a session or the working tree changed, with the bytes before and after: what a diff is made of.

Reading only: nothing is locked, so it can be asked while the session runs. Hunks are taken back in `undo.py`.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pool.sessions.checkpoints.beneath import parent_of, read_at
from pool.sessions.checkpoints.checkpoints import place_of
from pool.sessions.checkpoints.contents import Contents, Damaged
from pool.sessions.checkpoints.githead import Committed, files_of, head_commit
from pool.sessions.checkpoints.gitobjects import NoObject
from pool.sessions.checkpoints.journal import By, Record, read_journal
from pool.sessions.checkpoints.present import bytes_of, state_now, unchanged
from pool.sessions.checkpoints.states import Changed, Kind, State
from pool.sessions.checkpoints.textdiff import Hunk, hunks_of, is_binary, line_counts
from pool.sessions.checkpoints.walk import Scope, Seen, Walk
from pool_tools.frozen import frozen

READ_MOST = 64 * 1024 * 1024
"""Larger files are named without their contents."""

UNTRACKED_MOST = 20_000


@frozen
class FileChange:
    """One changed file. before and after are None where there was or is none, or what it held is not known (see note).

    Modes are of `st_mode`, 0 where there is no file.
    """

    path: str
    before: bytes | None
    after: bytes | None
    before_mode: int
    after_mode: int
    note: str = ""

    @property
    def kind(self) -> Kind:
        if not self.before_mode:
            return Kind.CREATED
        return Kind.MODIFIED if self.after_mode else Kind.DELETED

    @property
    def binary(self) -> bool:
        return is_binary(self.before or b"") or is_binary(self.after or b"")

    @property
    def counts(self) -> tuple[int, int]:
        """Lines added and removed."""
        return (0, 0) if self.note else line_counts(self.before or b"", self.after or b"")

    def hunks(self) -> list[Hunk]:
        """The changes within the file; [] if it is binary or not known."""
        return [] if self.note else hunks_of(self.before or b"", self.after or b"")


class ChangesView:
    """What is known of a session's changes. folder is that of its checkpoints; it need not exist. Close it."""

    def __init__(self, folder: Path, root: Path) -> None:
        """Raises `OSError` if the workspace cannot be opened."""
        self.root = root
        self._handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._contents: Contents | None = None
        self.records: list[Record] = []
        folder = place_of(folder, root)
        with contextlib.suppress(OSError):
            self._contents = Contents(folder / "contents", read_only=True)
            self.records = read_journal((folder / "journal").read_bytes())[0].records
        self._scopes: list[Scope] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def of_runs(self, runs: set[str]) -> list[FileChange]:
        """What these runs changed, as they left it; what others did to the files in between is in it too."""
        mine = [record for record in self.records if record.by is By.CALL and record.run in runs]
        return list(self._between(mine, now=False))

    def of_session(self) -> list[FileChange]:
        """What the session's runs and undos changed, compared with what is there now."""
        return list(self._between([r for r in self.records if r.by is not By.OUTSIDE], now=True))

    def of_worktree(self) -> list[FileChange]:
        """What differs from the commit that is checked out. Raises `NoObject` if none can be read, or outside git."""
        walk = Walk(self.root, UNTRACKED_MOST)
        seen = {one.path: one for one in walk.all() if not one.scope.base}
        scope = walk.scopes[""]
        if scope.repository is None or scope.objects is None:
            raise NoObject("this folder is in no git repository")
        commit = head_commit(scope.repository)
        committed = dict(files_of(scope.objects, commit, scope.lead)) if commit else {}
        out: list[FileChange] = []
        for path in sorted(seen.keys() | committed.keys()):
            one, old = seen.get(path), committed.get(path)
            if one and old and _is_clean(one, old):
                continue
            change = self._against_commit(path, old, scope)
            if change is not None:
                out.append(change)
        return out

    def bytes_of(self, state: State | None) -> tuple[bytes | None, str]:
        """The contents of a state, None for none; and why they are not known, "" if they are."""
        return self._bytes(state)

    def close(self) -> None:
        os.close(self._handle)
        if self._contents is not None:
            self._contents.close()
        for scope in self._scopes or ():
            if scope.objects is not None:
                scope.objects.close()

    def _between(self, records: Sequence[Record], *, now: bool) -> Iterator[FileChange]:
        first: dict[str, Changed] = {}
        last: dict[str, Changed] = {}
        for record in records:
            for change in record.changes:
                first.setdefault(change.path, change)
                last[change.path] = change
        for path in sorted(first):
            before, after = first[path].before, last[path].after
            if now:
                after = state_now(self._handle, path, after.key if after else "", READ_MOST)
            if before == after or (before is not None and before.same(after)):
                continue
            change = self._file_change(path, before, after, read=now)
            if change.note or change.before != change.after or change.before_mode != change.after_mode:
                yield change

    def _file_change(self, path: str, before: State | None, after: State | None, *, read: bool) -> FileChange:
        old, why = self._bytes(before)
        if read and after is not None:
            new, missing = self._read(path)
        else:
            new, missing = self._bytes(after)
        return FileChange(path, old, new, before.mode if before else 0, after.mode if after else 0, why or missing)

    def _bytes(self, state: State | None) -> tuple[bytes | None, str]:
        if state is None:
            return None, ""
        if self._contents is None:
            return None, "what it held is not kept"
        try:
            return bytes_of(state, self._contents, self._objects()), ""
        except Damaged as error:
            return None, str(error)

    def _objects(self) -> list[Scope]:
        if self._scopes is None:
            self._scopes = [Walk(self.root, 0).top_scope()]
        return self._scopes

    def _read(self, path: str) -> tuple[bytes | None, str]:
        try:
            with parent_of(self._handle, path) as (folder, name):
                read = read_at(folder, name, READ_MOST)
        except OSError as error:
            return None, str(error.strerror)
        return (read[0], "") if read else (None, "it is too large, or cannot be read")

    def _against_commit(self, path: str, old: Committed | None, scope: Scope) -> FileChange | None:
        assert scope.objects is not None
        found = state_now(self._handle, path, f"o{'0' * 2 * scope.objects.oid_bytes}", READ_MOST)
        if old is None and found is None:
            return None
        mode = found.mode if found else 0
        if old is not None and found is not None and found.key == f"o{old.oid.hex()}" and _alike(old.mode, mode):
            return None
        data, why = self._read(path) if found is not None else (None, "")
        before: bytes | None = None
        if old is not None:
            try:
                before = scope.objects.blob(old.oid)
            except NoObject as error:
                why = why or str(error)
        return FileChange(path, before, data, old.mode if old else 0, mode, why)


def _is_clean(seen: Seen, old: Committed) -> bool:
    """Whether git would say, without reading it, that a file is as it was committed."""
    tracked = seen.tracked
    if tracked is None or tracked.oid != old.oid or not _alike(old.mode, seen.found.st_mode):
        return False
    return unchanged(tracked, seen.found) and seen.found.st_mtime_ns < seen.scope.index_ns


def _alike(committed: int, mode: int) -> bool:
    """Whether a mode is what git would say: it knows only whether a file can be executed."""
    if stat.S_IFMT(committed) != stat.S_IFMT(mode):
        return False
    return stat.S_ISLNK(mode) or bool(committed & stat.S_IXUSR) == bool(mode & stat.S_IXUSR)
