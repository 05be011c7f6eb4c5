"""The checkpoints of one session: a look before each call that may write, one after it, and what they found on disk.

Everything that a call may destroy is on disk before the call begins. What a killed Pool left half done is finished when
the session's checkpoints are opened again, and told in `notes`.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pool.sessions.checkpoints.catalogue import read_catalogue, share, write_catalogue
from pool.sessions.checkpoints.contents import Contents, Damaged
from pool.sessions.checkpoints.journal import Journal, Record
from pool.sessions.checkpoints.looks import Limits, Look, Skipped
from pool.sessions.checkpoints.restore import leftovers
from pool.sessions.checkpoints.states import Changed, Sig, State, state_from
from pool.sessions.checkpoints.tree import FileTree
from pool_tools.frozen import frozen

_NAME_CHARS = 24
_ROOT = "root"
"""The file that names the workspace."""


def place_of(folder: Path, root: Path) -> Path:
    """Where in a session's folder the checkpoints of a workspace lie: its first one's on top, others' below."""
    try:
        first = (folder / _ROOT).read_bytes()
    except OSError:
        return folder
    return folder if first in (b"", os.fsencode(root)) else folder / _short(root)


def checkpoints_folder(sessions: Path, session: str) -> Path:
    """Where a session's checkpoints lie; sessions is the folder of the logs. It can be removed with its session."""
    return sessions.parent / "checkpoints" / session


@frozen
class Taken:
    """A checkpoint before a call: its number, contents that were copied for it, what was not kept, how long it took."""

    number: int
    files: int
    copied_bytes: int
    skipped: Skipped
    seconds: float
    first: bool


class Checkpoints:
    """Not for several threads at once; everything blocks. Raises `OSError` where the disk fails."""

    def __init__(self, folder: Path, root: Path, limits: Limits | None = None) -> None:
        """Open, or make, the checkpoints of a session. Raises `JournalBusy` if another process has them open."""
        top = folder.parent.parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = place_of(folder, root)
        folder.mkdir(exist_ok=True, mode=0o700)
        self.folder, self.root = folder, root
        self.journal = Journal(folder / "journal")
        self.contents = Contents(folder / "contents")
        self.tree = FileTree(root, self.contents, limits, avoid=[top])
        self.notes: list[str] = []
        self._base = folder / "base"
        self._shared = top / "trees" / f"{_short(root)}.tree"
        named = folder / _ROOT
        named.touch(mode=0o600)
        if not named.stat().st_size:
            named.write_bytes(os.fsencode(root))
        self._began = False
        self._first: Look | None = None

    @property
    def records(self) -> Sequence[Record]:
        """All changes so far, oldest first."""
        return self.journal.records

    def begin(self) -> None:
        """Take the first look, if it has not been taken; finish what a killed Pool left."""
        if self._began:
            return
        self._finish_undo()
        base = read_catalogue(self._base)
        if base is not None:
            sigs, keys = base
            for record in self.records:
                for change in record.changes:
                    _apply(change.path, change.after, sigs, keys)
            opened = self.journal.kept.opened
            if opened is not None and opened.get("path"):
                self.tree.follow(opened["path"])
                _apply(opened["path"], state_from(opened["state"]), sigs, keys)
            self.tree.known(sigs, keys, own=True)
            look = self.tree.look()
            self._note_since(look)
        else:
            shared = read_catalogue(self._shared)
            if shared is not None:
                self.tree.known(*shared, own=False)
            look = self.tree.look()
            write_catalogue(self._base, self.tree.sigs, self.tree.keys)
            share(self._base, self._shared)
        self._began = True
        self._first = look

    def before(self, run: str, turn: int, call: str, path: str = "") -> Taken:
        """Keep everything that a call could change; path is the only file that it writes, "" if that is not known."""
        self.begin()
        first, self._first = self._first, None
        look = self.tree.look_at(path) if path else self.tree.look()
        self._outside(look)
        number = self.journal.next_number
        self.contents.sync()
        state = self.tree.state(path) if path else None
        followed = {"path": path, "state": state.row() if state else None} if path else {}
        self.journal.add("opened", n=number, run=run, turn=turn, call=call, at=time.time(), **followed)
        told = first or look
        return Taken(number, told.copied, told.copied_bytes, told.skipped, told.seconds, first is not None)

    def after(self, path: str = "") -> Look:
        """What the call changed since `before`."""
        look = self.tree.look_at(path) if path else self.tree.look()
        self._close(look.changes, look.folders)
        return look

    def now(self) -> None:
        """Take note of what was changed outside of calls since the last look."""
        self.begin()
        self._outside(self.tree.look())

    def by_job(self, run: str) -> Look:
        """As `now`, for changes that a command in the background made: they count as the run's."""
        look = self.tree.look()
        if look.changes:
            self.journal.add("opened", n=self.journal.next_number, run=run, turn=0, call="", at=time.time())
            self._close(look.changes, look.folders)
        return look

    def bytes_of(self, state: State) -> bytes:
        """The contents of a state. Raises `Damaged` if they are not kept."""
        return self.tree.bytes_of(state)

    def keep_now(self, path: str) -> State | None:
        """What is at path now, kept, so that it can be brought back. Raises `Damaged` if it cannot be kept."""
        look = self.tree.look_at(path)
        self._outside(look)
        state = self.tree.state(path)
        if state is not None and not state.key:
            raise Damaged("; ".join(look.skipped.named) or "it is too large to be kept")
        return state

    def close(self) -> None:
        self.tree.close()
        self.contents.close()
        self.journal.close()

    def settle(self, paths: Sequence[str]) -> None:
        """Take note of what an undo did to these paths, which is recorded already."""
        look = self.tree.look()
        own = set(paths)
        others = [c for c in look.changes if c.path not in own]
        self._outside(replace(look, changes=others))
        for path in paths:
            self.tree.look_at(path)

    # -- inside

    def _outside(self, look: Look) -> None:
        if look.changes:
            rows = [c.row() for c in look.changes]
            self.journal.add("outside", n=self.journal.next_number, at=time.time(), items=rows, folders=look.folders)

    def _close(self, changes: Sequence[Changed], folders: Sequence[str], *, cut_off: bool = False) -> None:
        opened = self.journal.kept.opened
        if opened is None:
            return
        named = {name: opened[name] for name in ("n", "run", "turn", "call")}
        rows = [change.row() for change in changes]
        self.journal.add("changes", **named, at=time.time(), items=rows, folders=list(folders), cut_off=cut_off)

    def _note_since(self, look: Look) -> None:
        """Changes since this session was open last: those of a call that was cut off, else somebody else's."""
        if self.journal.kept.opened is None:
            self._outside(look)
            return
        path = str(self.journal.kept.opened.get("path", ""))
        if path and all(c.path != path for c in look.changes):
            look.changes.extend(self.tree.look_at(path).changes)
        self._close(look.changes, look.folders, cut_off=True)
        if look.changes:
            names = ", ".join(c.path for c in look.changes[:3]) + (", …" if len(look.changes) > 3 else "")
            self.notes.append(
                f"Pool was killed during a call; what changed since then counts as its work: {len(look.changes)} files "
                f"({names})"
            )

    def _finish_undo(self) -> None:
        """An undo that was cut off: note what it had done, remove its temporary files."""
        begun = self.journal.kept.undoing
        if begun is None:
            return
        done = leftovers(self.root, begun)
        self.journal.add("undone", n=begun["n"], done=done)
        total = len(begun["items"])
        if len(done) < total:
            self.notes.append(
                f"Pool was killed during an undo: {len(done)} of {total} files are done, the others are as they were. "
                "The same undo again does the rest"
            )


def _short(root: Path) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:_NAME_CHARS]


def _apply(path: str, state: State | None, sigs: dict[str, Sig], keys: dict[str, str]) -> None:
    """Bring a catalogue up to date; the file's times are not known, so it will be read."""
    if state is None:
        sigs.pop(path, None)
        keys.pop(path, None)
        return
    sigs[path] = (state.mode, state.size, -1, -1, -1)
    keys[path] = state.key
