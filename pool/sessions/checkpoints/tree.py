"""The state of a work tree, and what changed in it since the last look.

The first look goes through everything once: each tracked file whose bytes are just what git's object folder holds is
only noted by its object id; all other files are copied, within limits. Every later look compares stat data, of the
touched paths alone where the kernel tells them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pool.sessions.checkpoints.beneath import parent_of, read_at, state_of
from pool.sessions.checkpoints.contents import Contents, Damaged, fits, git_key, key_of
from pool.sessions.checkpoints.ignored import IGNORE_FILE
from pool.sessions.checkpoints.looks import Limits, Look, Skipped, Stopped
from pool.sessions.checkpoints.notify import Watcher
from pool.sessions.checkpoints.present import bytes_of, state_now, unchanged
from pool.sessions.checkpoints.repository import repository_of
from pool.sessions.checkpoints.states import Changed, Sig, State, sig_of
from pool.sessions.checkpoints.walk import Scope, Seen, Walk, is_kept

UNCERTAIN_NS = 50_000_000
"""A file that changed so shortly before it was looked at may change again without new times: it is read next time."""

FOLDERS_MOST = 64
"""Folders that came or went between two looks, up to which they are looked at one by one."""


class FileTree:
    """One work tree. Not for several threads at once; everything blocks. Raises `OSError` where the disk fails."""

    def __init__(
        self, root: Path, contents: Contents, limits: Limits | None = None, avoid: Iterable[Path] = ()
    ) -> None:
        """avoid are folders that are not part of it, such as where the checkpoints themselves lie."""
        self.root = root
        self._limits = limits or Limits()
        self._contents = contents
        self._avoid = frozenset(_identities(avoid))
        self._handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.sigs: dict[str, Sig] = {}
        self.keys: dict[str, str] = {}
        self._followed: set[str] = set()
        self._watcher: Watcher | None = None
        self._walk = Walk(root, self._limits.untracked, self._avoid)
        self._found = Skipped()
        self._copied = self._copied_bytes = 0
        self._folders: set[str] = set()
        self._made: set[str] = set()
        self._reads_until = 0.0
        self._no_untracked = False
        self._own = False
        self.in_git = False
        self.first: Look | None = None
        self.withheld: Callable[[bytes], bool] = lambda data: False
        """Says whether contents may not be kept, since a secret is in them."""
        self.stop = threading.Event()
        """Set from another thread, it ends the first look with `Stopped`."""

    # -- looking

    def look(self) -> Look:
        """What changed since the last look; the first finds no changes and takes everything in."""
        started = time.monotonic()
        self._begin()
        if self.first is None:
            changes = self._take_in(started)
            self.first = self._look(changes, started, whole=True)
            return self.first
        touched = self._watcher.take() if self._watcher else None
        whole = touched is None or touched.everything or len(touched.folders) > FOLDERS_MOST
        if touched is not None and not whole:
            whole = any(path.rpartition("/")[2] == IGNORE_FILE for path in touched.files)
        if touched is None or whole:
            changes = list(self._compare_all())
        else:
            changes = list(self._compare(touched.files, touched.folders))
        self._says_too_many()
        return self._look(changes, started, whole=whole)

    def _begin(self) -> None:
        self._found, self._copied, self._copied_bytes, self._made = Skipped(), 0, 0, set()

    def _look(self, changes: list[Changed], started: float, *, whole: bool) -> Look:
        self._contents.sync()
        changes.sort(key=lambda c: c.path)
        made = tuple(sorted(self._made))
        seconds = time.monotonic() - started
        return Look(changes, self._copied, self._copied_bytes, self._found, seconds, made, whole)

    def look_at(self, path: str) -> Look:
        """Look at one path whatever it is, and follow it from now on, though it be ignored."""
        started = time.monotonic()
        self._begin()
        met = path in self._followed or path in self.sigs
        self._followed.add(path)
        changed = self._examine(path, state_of(self._handle, path), self._scope_of(path))
        # What is met for the first time, such as an ignored file, has not changed.
        changed = changed if met else None
        return self._look([changed] if changed else [], started, whole=False)

    def follow(self, path: str) -> None:
        """Look at this path each time, though it be ignored."""
        self._followed.add(path)

    def state(self, path: str) -> State | None:
        """What was at path at the last look."""
        sig = self.sigs.get(path)
        return State(self.keys.get(path, ""), sig[0], sig[1]) if sig else None

    def now(self, path: str) -> State | None:
        """What is at path now; nothing is kept. The key is "" if it cannot be read or is too large."""
        return state_now(self._handle, path, self.keys.get(path, ""), self._limits.file_bytes)

    def bytes_of(self, state: State) -> bytes:
        """The contents of a state. Raises `Damaged` if they are not kept any more."""
        return bytes_of(state, self._contents, self._walk.scopes.values())

    def unwatch(self) -> None:
        """Go through everything at each look from now on."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        for scope in self._walk.scopes.values():
            if scope.objects is not None:
                scope.objects.close()
        os.close(self._handle)

    # -- taking everything in

    def known(self, sigs: dict[str, Sig], keys: dict[str, str], *, own: bool) -> None:
        """Take over an earlier look's findings: files with equal stat data need not be read again.

        own: they are this session's, so that the first look tells what changed since.
        """
        self.sigs, self.keys, self._own = sigs, keys, own

    def _take_in(self, started: float) -> list[Changed]:
        earlier, earlier_keys = self.sigs, self.keys
        self.sigs, self.keys = {}, {}
        self._reads_until = started + self._limits.verify_seconds
        self.in_git = repository_of(self.root) is not None
        with contextlib.suppress(OSError):
            self._watcher = Watcher()
        self._start_walk()
        copies: list[Seen] = []
        untracked: list[str] = []
        for seen in self._walk.all():
            if self.stop.is_set():
                raise Stopped
            sig = sig_of(seen.found)
            key = earlier_keys.get(seen.path, "") if earlier.get(seen.path) == sig else ""
            if not self._still_there(key, seen):
                key = self._git_key(seen)
            if seen.tracked is None:
                untracked.append(seen.path)
            if not key:
                copies.append(seen)
                continue
            self.sigs[seen.path], self.keys[seen.path] = self._certain(sig), key
        if self._says_too_many():
            copies = [seen for seen in copies if seen.tracked is not None]
            for path in untracked:
                self.sigs.pop(path, None)
                self.keys.pop(path, None)
        self._copy(copies)
        self._made.clear()
        return list(self._since(earlier, earlier_keys)) if self._own else []

    def _since(self, sigs: dict[str, Sig], keys: dict[str, str]) -> Iterator[Changed]:
        """What changed since an earlier look of this session, whose findings these are."""
        for path in sigs.keys() | self.sigs.keys() | self._followed:
            after = self.state(path)
            sig, key = sigs.get(path), keys.get(path, "")
            if after is None and (found := state_of(self._handle, path)) and is_kept(found.st_mode):
                # A file that is followed though it is ignored.
                self._followed.add(path)
                self._note(path, found, self._scope_of(path))
                after = self.state(path)
            before = State(key, sig[0], sig[1]) if sig else None
            unknown = before is not None and not before.key and sigs.get(path) == self.sigs.get(path)
            if unknown or before == after or (before is not None and before.same(after)):
                continue
            if before is not None and before.key and after is not None and self._equal(before, after):
                self.keys[path] = before.key
                continue
            if before is not None:
                self._secure(path, before)
            yield Changed(path, before, after)

    def _equal(self, before: State, after: State) -> bool:
        """Whether two keys of different kinds name the same contents."""
        if before.mode != after.mode or before.size != after.size or not after.key:
            return False
        try:
            return fits(before.key, self.bytes_of(after))
        except Damaged:
            return False

    def _start_walk(self) -> None:
        most = self._limits.untracked if self.in_git else self._limits.outside_git
        self._walk = Walk(
            self.root, -1 if self._no_untracked else most, self._avoid, self._watching, earlier=self._walk.scopes
        )

    def _says_too_many(self) -> bool:
        """Whether there turned out to be too many untracked files; from then on no new ones count."""
        if self._no_untracked or not self._walk.too_many:
            return False
        self._no_untracked = True
        what = "untracked files" if self.in_git else "files, and this is no git repository"
        self._found.add(".", f"more than {self._walk.untracked_most:,} {what}: only what tools write is kept of them")
        return True

    def _watching(self, handle: int, path: str) -> None:
        if path not in self._folders:
            self._folders.add(path)
            self._made.add(path)
        if self._watcher is not None:
            try:
                self._watcher.add(handle, path)
            except OSError:
                self._watcher.close()
                self._watcher = None

    def _still_there(self, key: str, seen: Seen) -> bool:
        if not key.startswith("o"):
            return key in self._contents
        oid = bytes.fromhex(key[1:])
        objects = seen.scope.objects
        return bool(seen.tracked and seen.tracked.oid == oid) or (objects is not None and objects.has(oid))

    def _git_key(self, seen: Seen) -> str:
        """The object that holds a tracked file's bytes just as they are, "" if none is known to."""
        tracked, objects = seen.tracked, seen.scope.objects
        if tracked is None or objects is None or not unchanged(tracked, seen.found):
            return ""
        if time.monotonic() > self._reads_until:
            # Its size is checked when it is needed: of what git converts, only ends of lines and the like fit here.
            return "" if seen.found.st_mtime_ns >= seen.scope.index_ns else f"o{tracked.oid.hex()}"
        read = read_at(seen.folder, seen.path.rpartition("/")[2], self._limits.file_bytes)
        key = git_key(read[0], objects.oid_bytes) if read else ""
        return key if key == f"o{tracked.oid.hex()}" else ""

    def _copy(self, files: list[Seen]) -> None:
        """Copy what git does not hold, within the limits; beyond them only the stat data is known."""
        for problem in self._walk.problems:
            where, _, why = problem.rpartition(": ")
            self._found.add(where or ".", why)
        for seen in sorted(files, key=lambda s: s.found.st_size):
            if self._copied >= self._limits.copied_files or self._copied_bytes >= self._limits.copied_bytes:
                self._found.add(seen.path, "too many files that git does not hold")
                self.sigs[seen.path], self.keys[seen.path] = sig_of(seen.found), ""
            else:
                self._note(seen.path, seen.found, seen.scope)

    # -- comparing

    def _compare_all(self) -> Iterator[Changed]:
        """Go through the whole tree."""
        folders, self._folders = self._folders, set()
        self._start_walk()
        if self._watcher is not None:
            self._watcher.take()
        old = self.sigs
        met: set[str] = set()
        for seen in self._walk.all():
            met.add(seen.path)
            if old.get(seen.path) != sig_of(seen.found):
                yield from _one(self._examine(seen.path, seen.found, seen.scope))
        self._made -= folders
        for path in [p for p in old if p not in met]:
            yield from _one(self._examine(path, state_of(self._handle, path), self._scope_of(path)))

    def _compare(self, files: set[str], folders: set[str]) -> Iterator[Changed]:
        """Look at touched files and folders, and at those that are followed."""
        assert self._watcher is not None
        gone = tuple(f"{path}/" for path in folders)
        met: set[str] = set()
        if gone:
            for path in gone:
                self._watcher.forget(path)
            lost = {path for path in self._folders if path.startswith(gone)}
            self._folders -= lost
            for path in [p for p in self.sigs if p.startswith(gone)]:
                files.add(path)
            for path in folders:
                for seen in self._walk.below(self._handle, path):
                    met.add(seen.path)
                    yield from _one(self._examine(seen.path, seen.found, seen.scope))
            self._made -= lost
        for path in (files | self._followed) - met:
            if path in self.sigs:
                yield from _one(self._examine(path, state_of(self._handle, path), self._scope_of(path)))
            elif seen := self._walk.takes(self._handle, path):
                yield from _one(self._examine(path, seen.found, seen.scope))

    def _examine(self, path: str, found: os.stat_result | None, scope: Scope) -> Changed | None:
        """Bring one path up to date; the change, if it is one."""
        before = self.state(path)
        if found is None or not is_kept(found.st_mode):
            if before is None:
                return None
            self._secure(path, before)
            del self.sigs[path]
            self.keys.pop(path, None)
            return Changed(path, before, None)
        if self.sigs.get(path) == sig_of(found):
            return None
        key = self.keys.get(path, "")
        if before is not None and key:
            read = self._read(path)
            if read is not None and fits(key, read[0]):
                self.sigs[path] = self._certain(sig_of(read[1]))
                return Changed(path, before, self.state(path)) if before.mode != read[1].st_mode else None
            self._secure(path, before)
        self._note(path, found, scope)
        return Changed(path, before, self.state(path))

    # -- contents

    def _note(self, path: str, found: os.stat_result, scope: Scope) -> None:
        """Take in what is at path now, and keep its contents."""
        read = self._read(path)
        if read is None:
            why = "too large" if found.st_size > self._limits.file_bytes else "it cannot be read"
            self._found.add(path, why)
            self.sigs[path], self.keys[path] = sig_of(found), ""
            return
        data, found = read
        self.sigs[path], self.keys[path] = self._certain(sig_of(found)), self._kept(path, data, scope)

    def _kept(self, path: str, data: bytes, scope: Scope) -> str:
        """The key of contents, kept if git does not hold them; "" if there is no room."""
        if scope.objects is not None:
            key = git_key(data, scope.objects.oid_bytes)
            if key in self._contents or scope.objects.has(bytes.fromhex(key[1:])):
                return key
        key = key_of(data)
        if key in self._contents:
            return key
        if self.withheld(data):
            self._found.add(path, "it holds a secret of yours (pool secrets)")
            return ""
        if self._contents.kept_bytes + len(data) > self._limits.all_bytes:
            self._found.add(path, "the session keeps no more")
            return ""
        if self._copied >= self._limits.copied_files or self._copied_bytes >= self._limits.copied_bytes:
            self._found.add(path, "too many new files at once")
            return ""
        self._contents.put(data)
        self._copied += 1
        self._copied_bytes += len(data)
        return key

    def _secure(self, path: str, state: State) -> None:
        """Copy contents that only git holds: after a change git may give them up."""
        if not state.key.startswith("o") or state.key in self._contents or self._copied >= self._limits.secured:
            return
        try:
            self._contents.put(self.bytes_of(state), state.key)
        except Damaged as error:
            self._found.add(path, f"its earlier contents are lost: {error}")

    def _read(self, path: str) -> tuple[bytes, os.stat_result] | None:
        try:
            with parent_of(self._handle, path) as (folder, name):
                return read_at(folder, name, self._limits.file_bytes)
        except OSError:
            return None

    def _scope_of(self, path: str) -> Scope:
        bases = [base for base in self._walk.scopes if path.startswith(base)]
        return self._walk.scopes[max(bases, key=len)] if bases else Scope()

    @staticmethod
    def _certain(sig: Sig) -> Sig:
        """sig, or one that is equal to none if the file may still be changing."""
        return sig if time.time_ns() - sig[3] > UNCERTAIN_NS else (sig[0], sig[1], sig[2], -1, sig[4])


def _one(changed: Changed | None) -> Iterator[Changed]:
    if changed is not None:
        yield changed


def _identities(folders: Iterable[Path]) -> Iterator[tuple[int, int]]:
    for folder in folders:
        with contextlib.suppress(OSError):
            found = folder.stat()
            yield found.st_dev, found.st_ino
