"""Puts back what a command changed of that which git takes orders from.

A read-only mount cannot protect what is not there yet, and Landlock can protect nothing inside a folder that may be
written. So what git obeys is remembered before a command and compared after it, when no process of it is left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from pool_tools.gitshape import DOT_GIT
from pool_tools.sandbox.gitconfig import harmless
from pool_tools.sandbox.gitfiles import hold_back, put_file, put_folder, put_link
from pool_tools.sandbox.gitfind import RepositoryFinder
from pool_tools.sandbox.gitguard import git_paths
from pool_tools.sandbox.gitjournal import Journal, State, left_behind
from pool_tools.sandbox.gitorders import Kind, Order, git_folders, included_files, look, order_files

_POINTER = "gitdir: "
_WORKTREE_COMMON = b"../..\n"
_WORKTREES = "worktrees"
_CONFIG = "config"
_CONFIGS = (_CONFIG, "config.worktree")
_MOST_NAMED = 5

MOST_NOTES = 20
"""So many things that were put back are named; a command can change any number of them."""


class GitGuard:
    """Guards every repository below roots. mounted: paths that are protected already, for which nothing is done here.

    Known repositories get back what they had. A repository that a command made keeps what is harmless: a configuration
    that names no program, and no hooks.
    """

    def __init__(
        self, roots: Sequence[Path], mounted: Callable[[], Iterable[Path]] = tuple, journals: Path | None = None
    ) -> None:
        """journals: the folder in which to write down what is remembered, for `finish_checks`."""
        self._roots = [Path(os.path.realpath(root)) for root in roots]
        self._mounted = mounted
        self._journal = None if journals is None else Journal(journals)
        # Where the agent was killed the user may have changed things since: those are kept beside.
        self._keeps = False
        self._finder = RepositoryFinder(self._roots)
        self._lock = threading.Lock()
        self._found: list[Path] = []
        self._state = State()
        self._running = 0

    def before(self) -> None:
        """Remember how things are, unless another command is running, which may have changed them already.

        Repositories are looked for again, since the user may have made some. Their age would not tell: a command can
        prepare a configuration, and the next one make a repository of it.
        """
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._found = self._finder.find()
                self._state = self._take(self._state)
                self._write_down(self._mounted())

    def close(self) -> None:
        """Remove what was written down. No command may be running."""
        if self._journal is not None:
            self._journal.close()

    def after(self) -> tuple[str, ...]:
        """Put things back; says of each what was done."""
        with self._lock:
            self._running -= 1
            skipped = set(self._mounted())
            self._found = self._finder.find(unlock=True)
            notes = self._put_back(skipped)
            if self._running:
                self._state = self._take(self._state)
                self._write_down(skipped)
            elif self._journal is not None:
                self._journal.end()
            return _bounded(notes)

    def finish(self, state: State, skipped: Iterable[Path]) -> list[str]:
        """Put back what was changed since a state that an agent wrote down before it was killed."""
        with self._lock:
            self._state, self._keeps = state, True
            # What is locked now may have been before.
            self._found = self._finder.find()
            return self._put_back(set(skipped))

    def _write_down(self, skipped: Iterable[Path]) -> None:
        if self._journal is not None:
            self._journal.begin(self._state, skipped)

    def _put_back(self, skipped: set[Path]) -> list[str]:
        now = self._take(self._state)
        new = now.folders - self._state.folders
        notes: list[str] = []
        for mark in now.marks:
            notes += self._tried(self._mark, mark, now)
        for folder in sorted(new):
            notes += self._tried(self._new, folder, now)
        for path in dict.fromkeys([*self._state.orders, *now.orders]):
            protected = any(path.is_relative_to(other) for other in skipped)
            if not protected and _owner(path, now.folders) not in new:
                notes += self._tried(self._known, path, now)
        return notes

    def _take(self, before: State) -> State:
        state = State()
        for found in self._found:
            order = look(found, before.marks.get(found))
            if order is not None and order.kind is Kind.FOLDER:
                state.folders.update(git_folders(found))
            elif order is not None:
                state.marks[found] = order
        # The folder of a linked worktree may lie where nobody walks, and its `.git` file may have been changed.
        state.folders.update(
            folder for root in self._roots for top in git_paths(root).writable for folder in git_folders(top)
        )
        state.folders.update(folder for folder in before.folders if os.path.isdir(folder) and not _linked(folder))
        for folder in state.folders:
            for path in order_files(folder):
                order = look(path, before.orders.get(path))
                state.orders[path] = order
                if path.name in _CONFIGS and order is not None:
                    for other in included_files(path, order, self._roots):
                        state.orders[other] = look(other, before.orders.get(other))
        return state

    def _tried(self, look_after: Callable[[Path, State], list[str]], path: Path, now: State) -> list[str]:
        try:
            return look_after(path, now)
        except OSError as error:
            return [f"{self._name(path)} was changed and could not be put back: {error.strerror}"]

    def _mark(self, mark: Path, now: State) -> list[str]:
        """A `.git` that is a file or a link."""
        before, order = self._state.marks.get(mark), now.marks[mark]
        if before is not None and before.same(order):
            return []
        if before is not None:
            return [self._restored(mark, before, order)]
        target = _pointed_at(order, mark.parent)
        if mark not in self._state.folders and target is not None and target in _all_targets(now.folders):
            return []
        return [f"{self._name(mark)} leads git to another folder, and is now {hold_back(mark)}"]

    def _new(self, folder: Path, now: State) -> list[str]:
        """A repository that was not there before. What another one had already is taken for copied or moved."""
        known = {order.data for order in self._state.orders.values() if order is not None and order.data}
        notes: list[str] = []
        for path in order_files(folder):
            order = now.orders.get(path)
            if order is None or order.kind is Kind.FOLDER or order.data in known or _plain(path, order):
                continue
            notes += self._tried(self._new_order, path, now)
        return notes

    def _new_order(self, path: Path, now: State) -> list[str]:
        order = now.orders[path]
        assert order is not None
        if path.name == _CONFIG and order.kind is Kind.FILE and order.data is not None:
            return self._new_config(path, order, order.data)
        return [f"{self._name(path)} could run programs, and is now {hold_back(path)}"]

    def _new_config(self, path: Path, order: Order, data: bytes) -> list[str]:
        text, dropped = harmless(data.decode("utf-8", "surrogateescape"), partial(self._inside, path))
        if not dropped:
            return []
        hold_back(path)
        _put(path, Order((), Kind.FILE, text.encode("utf-8", "surrogateescape"), order.mode))
        named = ", ".join(dropped[:_MOST_NAMED])
        return [f"{named} in {self._name(path)} could run programs or lead elsewhere, and was left out"]

    def _known(self, path: Path, now: State) -> list[str]:
        """A file of a repository that was there before."""
        owner = _owner(path, now.folders)
        if path not in self._state.orders and owner is None:
            return []
        if _removed_worktree(path):
            return []
        before = self._state.orders.get(path)
        # What is not listed any more: its repository is gone, or the configuration that took it in has changed.
        order = now.orders[path] if path in now.orders else look(path)
        if owner is None and order is None:
            return []
        if (before is None and order is None) or (before is not None and order is not None and before.same(order)):
            return []
        if before is None:
            assert order is not None
            if order.kind is Kind.FOLDER or _plain(path, order):
                return []
            return [f"{self._name(path)} is new, and git would obey it: it is now {hold_back(path)}"]
        if before.data is None and before.kind is not Kind.FOLDER:
            name = self._name(path)
            return [f"{name} was changed, is too large to be put back, and is now {hold_back(path)}"]
        return [self._restored(path, before, order)]

    def _restored(self, path: Path, before: Order, now: Order | None) -> str:
        aside = hold_back(path) if self._keeps and now is not None else ""
        _put(path, before)
        kept = f"; what it was is now {aside}" if aside else ""
        return f"{self._name(path)} was changed and has been put back{kept}"

    def _inside(self, config: Path, name: str) -> bool:
        """Whether a work tree that a configuration names is one that commands may write anyway."""
        path = Path(os.path.realpath(config.parent / name))
        return any(path.is_relative_to(root) for root in self._roots)

    def _name(self, path: Path) -> str:
        for root in self._roots:
            if path.is_relative_to(root):
                return str(path.relative_to(root))
        return str(path)


def finish_checks(roots: Sequence[Path], journals: Path) -> tuple[str, ...]:
    """Put back what commands changed in roots that ran when their agent was killed; says of each what was done."""
    notes: list[str] = []
    with left_behind(journals) as states:
        for state, skipped in states:
            notes += GitGuard(roots).finish(state, skipped)
    return _bounded(notes)


def _bounded(notes: Iterable[str]) -> tuple[str, ...]:
    """Each of the notes once, and not too many."""
    told = list(dict.fromkeys(notes))
    more = len(told) - MOST_NOTES
    return (*told[:MOST_NOTES], *([f"and {more:,} more of the kind"] if more > 0 else []))


def _put(path: Path, order: Order) -> None:
    """Make a path what it was. What stands in its way is set aside."""
    match order.kind:
        case Kind.LINK:
            put_link(path, order.data or b"")
        case Kind.FOLDER:
            put_folder(path, order.mode)
        case _:
            put_file(path, order.data or b"", order.mode)


def _owner(path: Path, folders: set[Path]) -> Path | None:
    """The git folder that a file belongs to."""
    return next((parent for parent in path.parents if parent in folders), None)


def _linked(path: Path) -> bool:
    return os.path.realpath(path) != str(path)


def _removed_worktree(path: Path) -> bool:
    """Whether a path belonged to a worktree that is gone, or to the last one: nothing is left that could be obeyed."""
    gone = path if path.name == _WORKTREES else path.parent
    return (gone is path or gone.parent.name == _WORKTREES) and not os.path.lexists(gone)


def _plain(path: Path, order: Order) -> bool:
    """Whether a new file is one that git itself writes for a worktree."""
    if order.kind is not Kind.FILE or order.data is None:
        return False
    if path.name == "commondir":
        return order.data == _WORKTREE_COMMON and path.parent.parent.name == _WORKTREES
    return path.name == "gitdir"


def _pointed_at(order: Order | None, folder: Path) -> Path | None:
    """The git folder that a `.git` file or link in folder leads to."""
    if order is None or order.data is None:
        return None
    text = os.fsdecode(order.data)
    if order.kind is Kind.FILE:
        if not text.startswith(_POINTER):
            return None
        text = text.removeprefix(_POINTER).split("\n", 1)[0]
    return None if "\0" in text else Path(os.path.realpath(folder / text))


def _all_targets(folders: set[Path]) -> set[Path]:
    """Folders that a `.git` file may lead to: git folders of submodules, and of worktrees."""
    trees = {tree for folder in folders for tree in _worktrees(folder)}
    return {folder for folder in folders if folder.name != DOT_GIT} | trees


def _worktrees(folder: Path) -> list[Path]:
    try:
        return [folder / "worktrees" / name for name in os.listdir(folder / "worktrees")]
    except OSError:
        return []
